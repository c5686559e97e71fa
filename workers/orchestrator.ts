import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { createReceiptActivities } from '../activities/receipts/activities';
import { openStore } from '../activities/receipts/store';
import { createTaskActivities } from '../activities/tasks/activities';
import { readTask, type TaskReader } from '../activities/tasks/read-task';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import { workflowBundlePath, type WorkerConfig } from './config';

/** Bounds memory: about 0.13 MB an open task; an evicted one is replayed on its next request. */
const CACHED_WORKFLOWS = 500;

/** The worker of the queue `perdure`: workflows and light activities. */
export async function createOrchestratorWorker(config: WorkerConfig, connection: NativeConnection): Promise<Worker> {
  const { home, plan } = config;
  const store = await openStore(join(home.path, 'receipts.db'));
  const client = new Client({ connection, namespace: plan.namespace });
  const reader: TaskReader = { query: (workflowId, name) => client.workflow.getHandle(workflowId).query(name) };
  return Worker.create({
    connection,
    namespace: plan.namespace,
    taskQueue: ORCHESTRATOR_QUEUE,
    identity: `perdure-orchestrator ${String(process.pid)}@${home.hostId}`,
    workflowBundle: { codePath: workflowBundlePath },
    activities: {
      ...createReceiptActivities({ store, now: () => new Date().toISOString() }),
      ...createTaskActivities({ readTask: (key) => readTask(reader, key) }),
    },
    maxCachedWorkflows: CACHED_WORKFLOWS,
    // How long a task waits for a worker that was killed before another may have it; a living one takes it in no time.
    stickyQueueScheduleToStartTimeout: '2 seconds',
    // A receipt that is being written is written to its end; nothing here is long.
    shutdownGraceTime: '2 seconds',
    shutdownForceTime: '10 seconds',
  });
}
