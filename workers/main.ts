import { inspect } from 'node:util';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  DefaultLogger,
  makeTelemetryFilterString,
  Runtime,
  type LogEntry,
  type NativeConnection,
  type Worker,
} from '@temporalio/worker';
import { DETACHED } from '../activities/provider/failures';
import { valueOf } from '../client/outcome';
import { rememberKeys } from '../client/remembered-keys';
import { openSession, type Session } from '../client/session';
import { loadWorkerConfig, type Env, type WorkerConfig, type WorkerRole } from './config';
import { connectWorker } from './connection';
import { createHostWorker } from './host';
import { createOrchestratorWorker } from './orchestrator';
import { beginThrough, receiptsFile, removeThrough, startOutbox } from './outbox';
import { startReclaim } from './reclaim';
import { ensureSearchAttributes } from './search-attributes';
import { shutdownSignal } from './shutdown-signal';
import { ensureKeys, ensureSweep } from './sweep';

export interface WorkersReady {
  readonly role: WorkerRole;
  readonly address: string;
  readonly namespace: string;
  readonly hostId: string;
}

export interface WorkersOptions {
  readonly role: WorkerRole;
  readonly env: Env;
  readonly onReady: (ready: WorkersReady) => void;
}

/**
 * Makes this process the workers of a role and resolves when it was told to end (SIGINT, SIGTERM, or a parent's IPC
 * channel that closed) and all runs are handed over. Rejects when a worker cannot start or fails.
 */
export async function runWorkers({ role, env, onReady }: WorkersOptions): Promise<void> {
  quietRuntime();
  const ending = shutdownSignal();
  const config = await loadWorkerConfig(env);
  const connection = await connectWorker(config.plan, { signal: ending }).catch((error: unknown) => {
    if (ending.aborted) return undefined;
    throw error;
  });
  if (connection === undefined) return;
  const { session } = valueOf(await openSession(env));
  try {
    await ensureSearchAttributes(connection, config.plan.namespace);
    await ensureKeys(session);
    const workers = await createWorkers(role, config, { connection, session });
    if (role !== 'host') await ensureSweep(session, config.home.config.sweep);
    const { address, namespace, payloads } = config.plan;
    const client = new Client({ connection, namespace, dataConverter: payloads.dataConverter });
    const running = runUntil(ending, workers);
    rememberKeys(config.home.path, payloads.keyIds);
    onReady({ role, address, namespace, hostId: config.home.hostId });
    const reclaim = role === 'orchestrator' ? undefined : startReclaim({ home: config.home.path, client });
    const outbox = role === 'host' ? undefined : outboxOf(config, session);
    await running.finally(() => {
      reclaim?.stop();
      return outbox?.stop();
    });
  } finally {
    await session.close();
    await connection.close();
  }
}

function outboxOf({ home }: WorkerConfig, session: Session) {
  const { receipts } = home.config;
  const begin = receipts === undefined ? null : beginThrough(session, receipts.giveUpAfterMs);
  return startOutbox({ file: receiptsFile(home), begin, removeRuns: removeThrough(session) });
}

/** Logs warnings to stderr; signals are ours to handle. */
function quietRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('WARN', log),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
    },
  });
}

/**
 * Warnings of the SDK that tell of nothing wrong: a host worker runs no workflows, a server may end before we do, and a
 * run that another worker has taken over answers twice.
 */
const HARMLESS = ['No workflows registered', 'shutdown_worker rpc errored', 'Activity not found on completion'];

/** A worker that ends hands its runs over by failing their activities. */
const isHandOver = (meta: LogEntry['meta']): boolean => {
  const error: unknown = meta?.['error'];
  return error instanceof ApplicationFailure && error.type === DETACHED;
};

function log({ level, message, meta, timestampNanos }: LogEntry): void {
  if (HARMLESS.some((start) => message.startsWith(start)) || isHandOver(meta)) return;
  const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  process.stderr.write(`${at} ${level} ${message} ${inspect(meta ?? {}, { breakLength: Infinity })}\n`);
}

interface Connections {
  readonly connection: NativeConnection;
  readonly session: Session;
}

async function createWorkers(
  role: WorkerRole,
  config: WorkerConfig,
  { connection, session }: Connections,
): Promise<Worker[]> {
  const workers: Worker[] = [];
  if (role !== 'host') workers.push(await createOrchestratorWorker(config, connection, session));
  if (role !== 'orchestrator') workers.push(await createHostWorker(config, connection));
  return workers;
}

/** Runs all workers; when one fails, the others hand over and the failure is thrown. */
async function runUntil(ending: AbortSignal, workers: Worker[]): Promise<void> {
  const stop = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const runs = workers.map((worker) => worker.run());
  for (const run of runs) run.catch(stop);
  if (ending.aborted) stop();
  else ending.addEventListener('abort', stop, { once: true });
  const failed = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
  if (failed) throw failed.reason;
}
