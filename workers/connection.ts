import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { connectionOptions, type ServerPlan } from '../client/connection';
import { refuse } from '../client/outcome';
import { GRPC, grpcStatus } from '../client/temporal-failure';

/** Milliseconds that a worker waits for a server that starts at the same time. */
const CONNECT_MS = 30_000;
const RETRY_MS = 250;

/** gRPC's status for a namespace that is not there. */
const NOT_FOUND = 5;

export interface ConnectOptions {
  readonly giveUpAfterMs?: number;
  readonly signal?: AbortSignal;
}

/** Connects the worker and looks for its namespace; tries again for a bounded time while the server is not there. */
export async function connectWorker(plan: ServerPlan, options: ConnectOptions = {}): Promise<NativeConnection> {
  const { giveUpAfterMs = CONNECT_MS, signal } = options;
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    try {
      return await connectOnce(plan);
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (performance.now() > deadline) {
        refuse('TEMPORAL_UNREACHABLE', `no Temporal server with namespace ${plan.namespace} at ${plan.address}`);
      }
    }
    await sleep(RETRY_MS, undefined, signal && { signal });
  }
}

async function connectOnce(plan: ServerPlan): Promise<NativeConnection> {
  // The worker's options are the client's: both come from one profile.
  const { address, metadata, tls, apiKey } = connectionOptions(plan);
  const connection = await NativeConnection.connect({
    ...(address !== undefined && { address }),
    ...(metadata !== undefined && { metadata }),
    ...(tls !== undefined && { tls }),
    ...(typeof apiKey === 'string' && { apiKey }),
  });
  try {
    await connection.workflowService.describeNamespace({ namespace: plan.namespace });
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** A server that comes up refuses connections first, and then does not know its namespaces yet. */
function isTransient(error: unknown): boolean {
  // The SDK's class for it is not public, its name is.
  if (error instanceof Error && error.name === 'TransportError') return true;
  const code = grpcStatus(error)?.code;
  return code === GRPC.unavailable || code === GRPC.deadlineExceeded || code === NOT_FOUND;
}
