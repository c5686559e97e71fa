// npm run bench -- <name> [--json] [--tasks N]: figures of the product, measured on this machine.
import { parseArgs } from 'node:util';
import { lifecycle } from './lifecycle/lifecycle';
import { output } from './output/output';
import { overhead } from './overhead/overhead';

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = {
  lifecycle,
  output,
  overhead,
};

export interface BenchOptions {
  /** Whether stdout gets one JSON document instead of a table. */
  readonly isJson: boolean;
  readonly signal: AbortSignal;
  /** How many tasks are open in the end, where a bench opens many. */
  readonly tasks?: number;
}

/** The fewest tasks with which every figure is one. */
const FEWEST_TASKS = 200;

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, tasks: { type: 'string' } },
  });
  const tasks = values.tasks === undefined ? undefined : Number(values.tasks);
  const isTasksWrong = tasks !== undefined && !(Number.isInteger(tasks) && tasks >= FEWEST_TASKS);
  const bench = BENCHES[positionals[0] ?? ''];
  if (bench === undefined || positionals.length > 1 || isTasksWrong || (tasks !== undefined && bench !== lifecycle)) {
    const names = Object.keys(BENCHES).join('|');
    process.stderr.write(
      `usage: npm run bench -- ${names} [--json] [--tasks N, from ${FEWEST_TASKS}, lifecycle only]\n`,
    );
    return 2;
  }
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      ending.abort(new Error('interrupted'));
    });
  }
  await bench({ isJson: values.json, signal: ending.signal, ...(tasks !== undefined && { tasks }) });
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
