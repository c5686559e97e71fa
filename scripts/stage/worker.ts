import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { failureSchema } from '../../contract/failures';

/** The command line of this clone, as a user starts it. */
export const PERDURE = join(__dirname, '..', '..', '..', 'bin', 'perdure.js');

const STOP_MS = 15_000;
const readySchema = z.object({ ready: z.literal(true), hostId: z.string(), pid: z.int() });

/** A worker process of ours. */
export interface WorkerProcess {
  readonly pid: number;
  readonly hostId: string;
  readonly child: ChildProcess;
}

/** Starts `perdure worker` in a process of its own that logs to a file; resolves when it has taken up its work. */
export async function startWorker(env: NodeJS.ProcessEnv, logFile: string): Promise<WorkerProcess> {
  const log = openSync(logFile, 'a', 0o600);
  // A group of its own, because a Ctrl-C is ours; the IPC channel, so that it ends when we are killed.
  const child = spawn(process.execPath, [PERDURE, 'worker', '--role', 'all', '--json'], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', log, 'ipc'],
  });
  closeSync(log);
  const { pid, stdout } = child;
  if (pid === undefined || stdout === null) throw new Error('the worker could not be started');
  const ended = once(child, 'exit').then(() => undefined);
  const lines = createInterface({ input: stdout });
  const line = await Promise.race([once(lines, 'line').then(([first]) => String(first)), ended]);
  lines.close();
  stdout.resume();
  const said: unknown = line === undefined ? undefined : JSON.parse(line);
  const ready = readySchema.safeParse(said);
  if (ready.success) return { pid, hostId: ready.data.hostId, child };
  const refusal = failureSchema.safeParse(said);
  await endChild(child);
  throw new Error(`the worker did not start: ${refusal.success ? refusal.data.error : lastLine(logFile)}`);
}

const lastLine = (file: string): string => readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '';

/** Ends a child: gracefully, and by force when that takes too long. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}
