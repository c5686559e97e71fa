import { failure } from '../contract/failures';
import { exitCodeOf } from './exit-code';
import { note, printFailure } from './output';
import { buildProgram } from './program';
import { asksForJson, usageExit } from './usage';

/** Runs one command line and answers the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const isJson = asksForJson(argv);
  try {
    await buildProgram().parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return usageExit(error, isJson) ?? (await refused(error, isJson)) ?? defect(error, isJson);
  }
}

/** Prints a refusal that a command threw; undefined when it is none. */
async function refused(error: unknown, isJson: boolean): Promise<number | undefined> {
  const { toFailure } = await import('../client/outcome.js');
  const known = toFailure(error);
  if (known === undefined) return undefined;
  printFailure(isJson, known);
  return exitCodeOf(known);
}

/** Says in one line that we failed, never with a stack unless it was asked for. */
function defect(error: unknown, isJson: boolean): number {
  const message = error instanceof Error ? error.message : String(error);
  printFailure(isJson, failure('INTERNAL', message.split('\n')[0] ?? 'unknown'));
  if (process.env['PERDURE_DEBUG'] === '1' && error instanceof Error) {
    process.stderr.write(`${error.stack ?? ''}\n`);
  }
  return 1;
}

/** Ends the process once everything that was printed has been taken, whatever is still open. */
function end(code: number): void {
  process.exitCode = code;
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}

// A reader that went away (`perdure task list | head`) is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    end(defect(error, asksForJson(process.argv.slice(2))));
  });
}

const argv = process.argv.slice(2);
void main(argv).then(end, (error: unknown) => {
  note(String(error));
  process.exit(1);
});
