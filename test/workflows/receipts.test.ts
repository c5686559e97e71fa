import { sql } from 'kysely';
import type { WorkflowHandle } from '@temporalio/client';
import { acknowledgeReceipts, listReceipts, resendReceipts } from '../../client/index';
import { incidentsQuery } from '../../contract/incident';
import { ORCHESTRATOR_QUEUE, receiptWorkflowId, WORKFLOW } from '../../contract/names';
import type { Delivery } from '../../contract/receipt-store';
import { whyQuery } from '../../contract/task';
import { beginThrough, removeThrough, startOutbox } from '../../workers/outbox';
import { idOf } from '../helpers/stage';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { Stage } from '../helpers/stage';
import { answer, isSigned, WebhookServer } from '../helpers/webhook-server';

const SECRET = 'a secret of the test, planted';
const DAY_MS = 86_400_000;

const incidents = (task: WorkflowHandle) => task.query(incidentsQuery);

describe('the receipt of a result', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());
  beforeEach(() => {
    stage.host.run = (order) => goodReport(order);
  });

  /** Activities that the runs of a task's last attempt scheduled. */
  async function scheduledIn(task: WorkflowHandle): Promise<string[]> {
    const query = `WorkflowId = '${task.workflowId}' AND WorkflowType = 'dispatchTask'`;
    await stage.listed(task, "WorkflowType = 'dispatchTask'");
    const types: string[] = [];
    for await (const { runId } of stage.client.workflow.list({ query })) {
      const { events } = await stage.client.workflow.getHandle(task.workflowId, runId).fetchHistory();
      for (const { activityTaskScheduledEventAttributes: asked } of events ?? []) {
        if (asked?.activityType?.name) types.push(asked.activityType.name);
      }
    }
    return types;
  }

  const receiptsOf = async (taskId: string) => {
    const found = await listReceipts(stage.session, { taskId });
    return found.success ? found.receipts : found.code;
  };

  it('is queued once per attempt, after its result, with how it ended (RQ-1, RQ-2)', async () => {
    const task = await stage.create();
    const { attemptId, receipts } = await stage.settle(task);
    expect(await receiptsOf(idOf(task))).toMatchObject([
      {
        receiptId: `result:${attemptId}`,
        attemptId,
        resultRef: `temporal:${task.workflowId}:${attemptId}`,
        tenantId: 'default',
        taskId: idOf(task),
        outcome: 'completed',
        state: 'queued',
        sequence: receipts[0]?.sequence,
      },
    ]);
  });

  it('is none where the attempt never passed the fence, and that is no incident (RQ-3, RQ-6)', async () => {
    stage.host.run = (order) =>
      goodReport(order, {
        outcome: 'failed',
        code: 'workspace_failed',
        spawns: 0,
        startedAt: null,
        workspacePath: null,
        exit: null,
        observation: null,
      });
    const task = await stage.create();
    expect((await stage.settle(task)).receipts).toEqual([]);
    expect({ receipts: await receiptsOf(idOf(task)), incidents: await incidents(task) }).toEqual({
      receipts: [],
      incidents: [],
    });
    expect(await scheduledIn(task)).toEqual(['runProvider']);
  });

  it('is there for an executor that died: what it did is not known (RQ-6)', async () => {
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner', spawns: 0, startedAt: null });
    const task = await stage.create();
    expect((await stage.settle(task)).receipts).toHaveLength(1);
  });

  it('that is taken by other content is an incident; result and stored receipt stay (RQ-5)', async () => {
    stage.host.run = stage.host.hold;
    const task = await stage.create();
    const order = await stage.hold(task);
    const receiptId = `result:${order.attemptId}`;
    await stage.store
      .insertInto('receipts')
      .columns(['receipt_id', 'attempt_id', 'result_ref', 'queued_at'])
      .values({
        receipt_id: receiptId,
        attempt_id: 'another',
        result_ref: 'elsewhere',
        queued_at: '2026-01-01',
      } as never)
      .execute();
    stage.host.release(order);
    const attempt = await stage.settled(task, order.attemptId);
    expect(attempt).toMatchObject({ outcome: 'completed', receipts: [] });
    expect(await incidents(task)).toMatchObject([{ code: 'receipt_conflict', subject: order.attemptId }]);
    const { attention, facts } = await task.query(whyQuery);
    expect({ attention, facts }).toMatchObject({
      attention: 'outcome',
      facts: expect.arrayContaining([expect.stringContaining('receipt_conflict')]) as string[],
    });
    const row = await stage.store.selectFrom('receipts').selectAll().where('receipt_id', '=', receiptId).execute();
    expect(row).toMatchObject([{ attempt_id: 'another', result_ref: 'elsewhere' }]);
  });

  it('is queued once when storage fails some times (RQ-12)', async () => {
    stage.host.run = stage.host.hold;
    const task = await stage.create();
    const order = await stage.hold(task);
    await sql`alter table receipts rename to receipts_away`.execute(stage.store);
    stage.host.release(order);
    await until(async () => {
      const { raw } = await task.describe();
      return (
        (raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'queueReceipt')?.attempt ?? 0) > 2
      );
    });
    await sql`alter table receipts_away rename to receipts`.execute(stage.store);
    expect((await stage.settled(task, order.attemptId)).receipts).toHaveLength(1);
    expect(await incidents(task)).toEqual([]);
    expect(await receiptsOf(idOf(task))).toHaveLength(1);
  });

  it('is acknowledged by a caller on any host, and refused when it is unknown or of another tenant', async () => {
    const task = await stage.create();
    const { attemptId } = await stage.settle(task);
    const receiptId = `result:${attemptId}`;
    const foreign = { ...stage.session, home: { ...stage.session.home, tenantId: 'foreign' } };
    const unknown = { success: false, code: 'receipt_unknown', error: `there is no receipt ${receiptId}` };
    expect(await acknowledgeReceipts(foreign, [receiptId])).toMatchObject(unknown);
    expect(await listReceipts(foreign, {})).toEqual({ success: true, receipts: [] });
    const first = await acknowledgeReceipts(stage.session, [receiptId]);
    expect(first).toMatchObject({ success: true, receipts: [{ receiptId, state: 'acknowledged' }] });
    expect(await acknowledgeReceipts(stage.session, [receiptId])).toEqual(first);
    expect(await acknowledgeReceipts(stage.session, [receiptId, 'no such'])).toMatchObject({ code: 'receipt_unknown' });
    expect(await listReceipts(stage.session, { taskId: idOf(task), state: 'queued' })).toMatchObject({ receipts: [] });
  });

  it('is listed in pages that stay small in history', async () => {
    const rows = Array.from({ length: 600 }, (_, n) => ({
      sequence: 10_000 + n,
      receipt_id: `p${String(n)}`,
      attempt_id: 'p',
      result_ref: 'p',
      queued_at: '2026-01-01',
      tenant_id: 'default',
      task_id: 'paged',
      acknowledged_at: '2026-01-02',
    }));
    for (const row of rows) await stage.store.insertInto('receipts').values(row).execute();
    const found = await listReceipts(stage.session, { taskId: 'paged', limit: 590 });
    expect(found.success && found.receipts.map(({ sequence }) => sequence)).toEqual(
      rows.slice(0, 590).map(({ sequence }) => sequence),
    );
    await stage.store.deleteFrom('receipts').where('task_id', '=', 'paged').execute();
  });

  describe('goes to the webhook', () => {
    let webhook: WebhookServer;
    let outbox: ReturnType<typeof startOutbox> | undefined;
    beforeEach(async () => {
      await stage.store.deleteFrom('receipts').execute();
      webhook = await WebhookServer.start();
      stage.webhook = { url: new URL(webhook.url), secret: () => Promise.resolve(SECRET) };
    });
    afterEach(async () => {
      await outbox?.stop();
      await webhook.stop();
    });

    const start = (giveUpAfterMs = DAY_MS) => {
      const file = `${stage.session.home.path}/receipts.db`;
      outbox = startOutbox({
        file,
        begin: beginThrough(stage.session, giveUpAfterMs),
        removeRuns: removeThrough(stage.session),
      });
    };
    const deliveryOf = (receiptId: string): Promise<Delivery> =>
      stage.client.workflow.getHandle(receiptWorkflowId(receiptId)).result();
    const inState = (state: 'delivered' | 'failed' | 'queued') => listReceipts(stage.session, { state });

    it('by a workflow of its own, so that the run has no part in it', async () => {
      webhook.play(answer(500), answer(302, { location: webhook.url }), answer(204));
      start();
      const task = await stage.create();
      const { attemptId } = await stage.settle(task);
      const receiptId = `result:${attemptId}`;
      await until(async () => (await inState('delivered').then((list) => list.success && list.receipts.length)) === 1);
      expect(await deliveryOf(receiptId)).toEqual({ receiptId, state: 'delivered', error: null });
      expect(webhook.keys()).toEqual([receiptId, receiptId, receiptId]);
      expect(webhook.requests.every((request) => isSigned(request, SECRET))).toBe(true);
      expect(JSON.parse(webhook.requests[0]?.body ?? '')).toMatchObject({ taskId: idOf(task), outcome: 'completed' });
    });

    it('later, when it was queued while there was none', async () => {
      const task = await stage.create();
      const { attemptId } = await stage.settle(task);
      expect(webhook.keys()).toEqual([]);
      start();
      await until(() => webhook.keys().length === 1);
      expect(webhook.keys()).toEqual([`result:${attemptId}`]);
      expect(await deliveryOf(`result:${attemptId}`)).toMatchObject({ state: 'delivered' });
    });

    it('until it was tried for long enough: then it is failed, and is sent again when asked for', async () => {
      webhook.play(answer(503));
      start(3_000);
      const task = await stage.create();
      const { attemptId } = await stage.settle(task);
      const receiptId = `result:${attemptId}`;
      await until(async () => (await inState('failed').then((list) => list.success && list.receipts.length)) === 1);
      const error = 'given up: the webhook answered 503';
      expect(await deliveryOf(receiptId)).toEqual({ receiptId, state: 'failed', error });
      expect(await inState('failed')).toMatchObject({ receipts: [{ receiptId, error }] });
      webhook.play(answer(200));
      expect(await resendReceipts(stage.session, [])).toEqual({ success: true, resent: 1 });
      await until(async () => (await inState('delivered').then((list) => list.success && list.receipts.length)) === 1);
    });

    it('again when somebody ended its delivery and asks for it', async () => {
      webhook.play(answer(503));
      start();
      const task = await stage.create();
      const { attemptId } = await stage.settle(task);
      const receiptId = `result:${attemptId}`;
      await until(() => webhook.keys().length > 0);
      await stage.client.workflow.getHandle(receiptWorkflowId(receiptId)).cancel();
      await expect(deliveryOf(receiptId)).rejects.toThrow();
      expect(await inState('queued')).toMatchObject({ receipts: [{ receiptId }] });
      webhook.play(answer(200));
      expect(await resendReceipts(stage.session, [receiptId])).toEqual({ success: true, resent: 1 });
      await until(async () => (await inState('delivered').then((list) => list.success && list.receipts.length)) === 1);
    });
  });

  it('is refused by a delivery that nobody can read, and by a request that is none', async () => {
    const run = (type: string, input: object) =>
      stage.client.workflow.execute(type, { workflowId: `bad-${type}`, taskQueue: ORCHESTRATOR_QUEUE, args: [input] });
    await expect(run(WORKFLOW.deliverReceipt, { receiptId: 1 })).rejects.toThrow();
    expect(await run(WORKFLOW.serveReceipts, { kind: 'drop' })).toMatchObject({
      success: false,
      code: 'INVALID_ARGUMENT',
    });
  });
});
