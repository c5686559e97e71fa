import { sql } from 'kysely';
import type { WorkflowHandle } from '@temporalio/client';
import { acknowledgeReceipts, listReceipts, resendReceipts } from '../../client/index';
import type { Incident } from '../../contract/incident';
import { ORCHESTRATOR_QUEUE, receiptWorkflowId, removalWorkflowId, WORKFLOW } from '../../contract/names';
import type { Carried } from '../../contract/run';
import { beginThrough, removeThrough } from '../../workers/outbox';
import { idOf } from '../helpers/stage';
import { until } from '../helpers/dev-server';
import type { Stage } from '../helpers/stage';
import { answer, WebhookServer } from '../helpers/webhook-server';
import { scenario, type Scenario } from './scenario';

async function deliver(stage: Stage, webhook: WebhookServer, giveUpAfterMs: number): Promise<WorkflowHandle> {
  stage.webhook = { url: new URL(webhook.url), secret: () => Promise.resolve('a secret of the test') };
  const task = await stage.create();
  const { attemptId } = await stage.settle(task);
  await beginThrough(stage.session, giveUpAfterMs)(`result:${attemptId}`);
  await stage.client.workflow.getHandle(receiptWorkflowId(`result:${attemptId}`)).result();
  return task;
}

/** Begins a task at rest that owes the receipt of its last attempt, while the store is out of order. */
export async function owing(stage: Stage): Promise<WorkflowHandle> {
  const task = await stage.create();
  const { attemptId } = await stage.settle(task);
  const carried = await task.query<Carried>('carried');
  await task.terminate('in between');
  await sql`alter table receipts rename to receipts_away`.execute(stage.store);
  const order = { receiptId: `result:${attemptId}`, attemptId, resultRef: `temporal:${task.workflowId}:${attemptId}` };
  const attempts = carried.attempts.map((attempt) => ({ ...attempt, receipts: [] }));
  const incident: Incident = {
    id: `incident:receipt_storage_failed:${attemptId}`,
    code: 'receipt_storage_failed',
    subject: attemptId,
    at: '2026-01-01T00:00:00.000Z',
    evidence: ['no such table'],
    decidedAt: null,
    stages: [],
  };
  await stage.client.workflow.start(WORKFLOW.task, {
    workflowId: task.workflowId,
    taskQueue: ORCHESTRATOR_QUEUE,
    args: [{ carried: { ...carried, attempts, incidents: [incident], owedReceipts: [order] } satisfies Carried }],
  });
  const fresh = stage.client.workflow.getHandle(task.workflowId);
  await until(async () => {
    const { raw } = await fresh.describe();
    return raw.pendingActivities?.some(({ lastFailure }) => lastFailure?.message) === true;
  });
  return fresh;
}

export const restoreStore = (stage: Stage) => sql`alter table receipts_away rename to receipts`.execute(stage.store);

/** Ways of receipts: through the store, to a webhook, and when the store was out of order. */
export const receipts: readonly Scenario[] = [
  scenario('receipts-served', ['serveReceipts'], async (stage) => {
    const task = await stage.create();
    const { attemptId } = await stage.settle(task);
    await listReceipts(stage.session, { taskId: idOf(task) });
    await acknowledgeReceipts(stage.session, [`result:${attemptId}`]);
    await resendReceipts(stage.session, ['no such']);
    return task;
  }),
  scenario('runs-removed', ['removeRuns'], async (stage) => {
    const task = await stage.create();
    const { attemptId, hostId } = await stage.settle(task);
    await removeThrough(stage.session)(hostId, [attemptId]);
    await stage.client.workflow.getHandle(removalWorkflowId(hostId, attemptId)).result();
    return task;
  }),
  scenario('delivered-at-the-second-try', ['deliverReceipt'], async (stage) => {
    const webhook = await WebhookServer.start();
    webhook.play(answer(500), answer(204));
    return deliver(stage, webhook, 60_000).finally(() => webhook.stop());
  }),
  scenario('delivery-given-up', ['deliverReceipt'], async (stage) => {
    const webhook = await WebhookServer.start();
    webhook.play(answer(503));
    return deliver(stage, webhook, 2_000).finally(() => webhook.stop());
  }),
  scenario('owes-a-receipt-and-is-dispatched', ['task', 'dispatchTask'], async (stage) => {
    const task = await owing(stage);
    const { attemptId } = await stage.dispatch(task);
    await restoreStore(stage);
    await stage.settled(task, attemptId);
    await until(async () => (await task.query<Carried>('carried')).owedReceipts === undefined);
    return task;
  }),
];
