import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { failureSchema } from '../../contract/failures';
import { RefusedError, refuse } from '../../client/outcome';

/** What a worker process tells the `up` that started it, over the IPC channel. */
export const workerMessage = z.union([
  z.object({ ready: z.literal(true), address: z.string(), hostId: z.string() }),
  z.object({ failure: failureSchema }),
]);
export type WorkerMessage = z.infer<typeof workerMessage>;

export interface WorkerProcess {
  /** Resolves when the workers took up their work for the first time. */
  readonly ready: Promise<void>;
  /** Rejects when they cannot. */
  readonly failed: Promise<never>;
  /** Ends the process gracefully: its runs are handed over and go on. */
  stop(): Promise<void>;
}

const ENTRY = join(__dirname, '..', 'main.js');
const FIRST_TRIES = 3;
const BACK_OFF_MS = { first: 250, longest: 10_000, forgivenAfter: 30_000 };
const STOP_MS = 20_000;
const SETTLE_MS = 30;

/** Starts the process that is orchestrator and host worker, and starts it again whenever it dies. */
export function startWorkerProcess(env: NodeJS.ProcessEnv, note: (text: string) => void): WorkerProcess {
  let tellReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (tellReady = resolve));
  const ending = new AbortController();
  const isEnding = (): boolean => ending.signal.aborted;
  let child: ChildProcess | undefined;
  const keepRunning = async (): Promise<void> => {
    const seen: { isReady: boolean; refusal: RefusedError | undefined } = { isReady: false, refusal: undefined };
    const refusal = (): RefusedError | undefined => seen.refusal;
    let deaths = 0;
    while (!isEnding()) {
      const started = performance.now();
      seen.refusal = undefined;
      child = spawnWorker(env, (message) => {
        if ('failure' in message) seen.refusal = new RefusedError(message.failure);
        else seen.isReady = true;
        if (seen.isReady) tellReady();
      });
      const ended = await endOf(child);
      // A Ctrl-C reaches the worker as well, and its end may be seen before our own signal.
      await pause(SETTLE_MS, ending.signal);
      if (isEnding()) return;
      const refused = refusal();
      if (!seen.isReady && refused !== undefined) throw refused;
      deaths = performance.now() - started > BACK_OFF_MS.forgivenAfter ? 1 : deaths + 1;
      if (!seen.isReady && deaths >= FIRST_TRIES) refuse('WORKER_SILENT', `the worker does not start (${ended})`);
      const why = refused === undefined ? ended : `${ended}: ${refused.message}`;
      note(`the worker ended (${why}); it is started again`);
      await pause(backOff(deaths), ending.signal);
    }
  };
  const keeping = keepRunning();
  const failed = keeping.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const stop = async (): Promise<void> => {
    ending.abort();
    if (child) await endChild(child);
    await keeping.catch(() => undefined);
  };
  return { ready, failed, stop };
}

/** Milliseconds to wait after so many deaths in a row: after the first none, because runs wait to be followed. */
const backOff = (deaths: number): number =>
  deaths === 1 ? 0 : Math.min(BACK_OFF_MS.first * 2 ** (deaths - 2), BACK_OFF_MS.longest);

function spawnWorker(env: NodeJS.ProcessEnv, onMessage: (message: WorkerMessage) => void): ChildProcess {
  const child = spawn(process.execPath, [ENTRY, 'worker', '--role', 'all'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.on('message', (raw) => {
    const message = workerMessage.safeParse(raw);
    if (message.success) onMessage(message.data);
  });
  return child;
}

/** Waits for the end of the process; answers how it ended, in words. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('exit', (code, signal) => {
      resolve(signal ?? `exit code ${String(code)}`);
    });
  });
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = endOf(child);
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
