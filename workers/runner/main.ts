// Entry of the detached process that owns one provider process: node main.js <run directory> [--wait].
import { readSync } from 'node:fs';
import { pathsIn } from '../../activities/provider/run-directory';
import { runAttempt } from './attempt';

const [, , directory, wait] = process.argv;
if (directory === undefined) {
  process.stderr.write('usage: node main.js <run directory> [--wait]\n');
  process.exit(2);
}
// A closing terminal must not end it, and Ctrl-C is for the worker.
process.on('SIGHUP', () => undefined);
process.on('SIGINT', () => undefined);
// From the first moment on, so that it never dies of it with a provider running.
const termination = new AbortController();
process.on('SIGTERM', () => {
  termination.abort();
});

// Started before its attempt is prepared, it takes nothing until it is told to; an end of the input sends it away.
if (wait === '--wait' && readSync(0, Buffer.alloc(1)) === 0) process.exit(0);

runAttempt(pathsIn(directory), termination.signal).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
