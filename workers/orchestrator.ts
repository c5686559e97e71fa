import { cancellationSignal } from '@temporalio/activity';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { createDeliveryActivities, createReceiptActivities } from '../activities/receipts/activities';
import type { Webhook } from '../activities/receipts/deliver';
import { openStore } from '../activities/receipts/store';
import { createTaskActivities } from '../activities/tasks/activities';
import type { Home } from '../client/home';
import type { Session } from '../client/session';
import { readSecret } from '../client/webhook';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import { workflowBundlePath, type WorkerConfig } from './config';
import { receiptsFile } from './outbox';
import { createTaskServer } from './task-server';

/** Bounds memory: about 1 MB an open task; an evicted one is replayed on its next request, in about 30 ms. */
const CACHED_WORKFLOWS = 250;

/** The worker of the queue `perdure`: workflows and light activities, which talk to tasks through a session. */
export async function createOrchestratorWorker(
  { home, plan }: WorkerConfig,
  connection: NativeConnection,
  session: Session,
): Promise<Worker> {
  const store = await openStore(receiptsFile(home));
  return Worker.create({
    connection,
    namespace: plan.namespace,
    dataConverter: plan.payloads.dataConverter,
    taskQueue: ORCHESTRATOR_QUEUE,
    identity: `perdure-orchestrator ${String(process.pid)}@${home.hostId}`,
    workflowBundle: { codePath: workflowBundlePath(plan) },
    activities: {
      ...createReceiptActivities({ store, now: () => new Date().toISOString() }),
      ...createDeliveryActivities({
        store,
        webhook: webhookOf(home),
        now: () => new Date(),
        signal: cancellationSignal,
      }),
      ...createTaskActivities(createTaskServer(session)),
    },
    // A refusal sends the request back: one over the limit would fail its workflow task for as long as its caller waits.
    // What a phase carries over is bounded by the phase itself.
    disablePayloadErrorLimit: true,
    maxCachedWorkflows: CACHED_WORKFLOWS,
    // How long a task waits for a worker that was killed before another may have it; a living one takes it in no time.
    stickyQueueScheduleToStartTimeout: '2 seconds',
    // A receipt that is being written is written to its end; nothing here is long.
    shutdownGraceTime: '2 seconds',
    shutdownForceTime: '10 seconds',
  });
}

function webhookOf({ path, config: { receipts } }: Home): Webhook | null {
  if (receipts === undefined) return null;
  return { url: new URL(receipts.webhook), secret: () => readSecret(path, receipts) };
}
