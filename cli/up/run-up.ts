import { resolveConnection } from '../../client/connection';
import { openHome } from '../../client/home';
import { startEmbeddedServer, type EmbeddedServer } from './embedded-server';
import { lockHome } from './home-lock';
import { startWorkerProcess } from './worker-process';

export interface UpOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly port: number | undefined;
  readonly uiPort: number | undefined;
  readonly note: (text: string) => void;
  readonly onReady: (ready: UpReady) => void;
  /** Aborted when `up` is to end. */
  readonly signal: AbortSignal;
}

export interface UpReady {
  readonly address: string;
  /** Null when the server is not ours. */
  readonly ui: string | null;
  readonly pid: number;
  readonly home: string;
}

/** Runs server and workers for this home until the signal; then hands the runs over and ends what it started. */
export async function runUp(options: UpOptions): Promise<void> {
  const { env, note, signal } = options;
  const home = await openHome(env);
  const lock = await lockHome(home.path);
  try {
    const plan = resolveConnection(env, home);
    const server = plan.source === 'environment' ? undefined : await startServer(options, home.path, plan.namespace);
    const address = server?.address ?? plan.address;
    const ended = abortOf(signal);
    const worker = startWorkerProcess(env, note);
    const trouble = [worker.failed, ...(server ? [server.failed] : [])];
    try {
      await lock.tellAddress(address);
      await Promise.race([Promise.all([worker.ready, server?.ready]), ended, ...trouble]);
      if (!signal.aborted) options.onReady({ address, ui: server?.ui ?? null, pid: process.pid, home: home.path });
      await Promise.race([ended, ...trouble]);
    } finally {
      await worker.stop();
      await server?.stop();
    }
  } finally {
    await lock.release();
  }
}

function startServer(options: UpOptions, home: string, namespace: string): Promise<EmbeddedServer> {
  const { env, port, uiPort, note, signal } = options;
  return startEmbeddedServer({ env, home, namespace, port, uiPort, note, signal });
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
