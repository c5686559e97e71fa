// The product's orchestrator worker in a process of its own that also tells of its cache when it is asked. Its
// environment says which server and home, as with `perdure worker`.
import { DefaultLogger, Runtime, type Worker } from '@temporalio/worker';
import { valueOf } from '../client/outcome';
import { openSession } from '../client/session';
import { loadWorkerConfig } from '../workers/config';
import { connectWorker } from '../workers/connection';
import { createOrchestratorWorker } from '../workers/orchestrator';
import { shutdownSignal } from '../workers/shutdown-signal';
import type { CacheState } from './lifecycle/orchestrator';

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const ending = shutdownSignal();
  const config = await loadWorkerConfig(process.env);
  const connection = await connectWorker(config.plan, { signal: ending });
  const { session } = valueOf(await openSession(process.env));
  const worker = await createOrchestratorWorker(config, connection, session);
  const cacheState = watchCache(worker);
  const running = worker.run();
  const stop = (): void => {
    worker.shutdown();
  };
  if (ending.aborted) stop();
  else ending.addEventListener('abort', stop, { once: true });
  process.on('message', () => process.send?.(cacheState()));
  process.send?.(cacheState());
  await running;
  await session.close();
  await connection.close();
  process.exit(0);
}

/** Counts what enters and leaves the worker's cache: its size is told at every change. */
function watchCache(worker: Worker): () => CacheState {
  let cached = 0;
  let loaded = 0;
  let evicted = 0;
  worker.numRunningWorkflowInstances$.subscribe((size) => {
    loaded += Math.max(size - cached, 0);
    evicted += Math.max(cached - size, 0);
    cached = size;
  });
  const capacity = worker.options.maxCachedWorkflows;
  return () => ({ capacity, cached, loaded, evicted, busy: worker.getStatus().numInFlightWorkflowActivations });
}

main().catch((error: unknown) => {
  process.stderr.write(`bench: the orchestrator worker failed: ${error instanceof Error ? error.message : ''}\n`);
  process.exit(1);
});
