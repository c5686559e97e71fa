// npm run bench -- <name> [--json]: figures of the product, measured on this machine.
import { parseArgs } from 'node:util';
import { overhead } from './overhead/overhead';

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = { overhead };

export interface BenchOptions {
  /** Whether stdout gets one JSON document instead of a table. */
  readonly isJson: boolean;
  readonly signal: AbortSignal;
}

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  });
  const bench = BENCHES[positionals[0] ?? ''];
  if (bench === undefined || positionals.length > 1) {
    process.stderr.write(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [--json]\n`);
    return 2;
  }
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      ending.abort(new Error('interrupted'));
    });
  }
  await bench({ isJson: values.json, signal: ending.signal });
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
