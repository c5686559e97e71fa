import { sql } from 'kysely';
import type { WorkflowHandle } from '@temporalio/client';
import { incidentsQuery } from '../../contract/incident';
import { attemptsQuery, type Carried } from '../../contract/run';
import { setStatusUpdate, whyQuery } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { Stage } from '../helpers/stage';
import { TimeSkippingServer } from '../helpers/time-skipping-server';
import { owing, restoreStore } from '../replay/receipt-scenarios';

const MINUTE = 60_000;

const owed = async (task: WorkflowHandle) => (await task.query<Carried>('carried')).owedReceipts ?? [];
const rows = (stage: Stage) => stage.store.selectFrom('receipts').select('receipt_id').execute();
/** Tries of the receipt that is being queued, so far. */
const triesOf = async (task: WorkflowHandle) => {
  const { raw } = await task.describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'queueReceipt')?.attempt ?? 0;
};

describe('a store that fails for 15 minutes', () => {
  // The time-skipping server now and then loses a query that comes between two phases.
  jest.retryTimes(2);
  let server: TimeSkippingServer;
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open({ startServer: async () => (server = await TimeSkippingServer.start()) });
  });
  afterEach(() => stage.close());

  it('leaves the result and recovery_required, and the same receipt is queued when it works (RQ-11, RQ-12)', async () => {
    stage.host.run = (order) => goodReport(order);
    const task = await stage.create();
    await sql`alter table receipts rename to receipts_away`.execute(stage.store);
    const began = await server.now();
    const { attemptId } = await stage.dispatch(task);
    const receiptId = `result:${attemptId}`;
    await until(async () => (await triesOf(task)) > 1);
    while ((await task.describe()).type !== 'task') await server.skip(MINUTE);
    // 15 minutes and no less; a step of this test is a minute.
    expect((await server.now()) - began).toBeGreaterThanOrEqual(15 * MINUTE);
    expect((await server.now()) - began).toBeLessThan(20 * MINUTE);
    expect(await stage.lastAttempt(task)).toMatchObject({
      outcome: 'completed',
      receipts: [],
      executionResultId: receiptId,
    });
    expect(await task.query(incidentsQuery)).toMatchObject([
      { code: 'receipt_storage_failed', subject: attemptId, decidedAt: null },
    ]);
    const why = await task.query(whyQuery);
    expect(why).toMatchObject({ status: 'in_progress', attention: 'recovery' });
    expect(why.sentence).toMatch(/^recovery_required \(receipt_storage_failed\)/);
    expect(await owed(task)).toMatchObject([{ receiptId, attemptId }]);

    await restoreStore(stage);
    while ((await owed(task)).length > 0) await server.skip(MINUTE);
    expect(await rows(stage)).toEqual([{ receipt_id: receiptId }]);
    expect((await stage.lastAttempt(task)).receipts).toMatchObject([{ receiptId, sequence: 1 }]);
    expect(await task.query(incidentsQuery)).toMatchObject([{ decidedAt: expect.any(String) as string }]);
    expect(await task.query(whyQuery)).toMatchObject({ attention: 'outcome' });
  });
});

describe('a task that owes a receipt', () => {
  let stage: Stage;
  let task: WorkflowHandle;
  beforeEach(async () => {
    stage = await Stage.open();
    task = await owing(stage);
  });
  afterEach(() => stage.close());

  it('adds nothing to its history while the store is tried', async () => {
    const { historyLength } = await task.describe();
    expect(await triesOf(task)).toBeGreaterThan(1);
    expect((await task.describe()).historyLength).toBe(historyLength);
  });

  it('takes an outcome meanwhile, which stays, and shows that its receipt is missing (RQ-8)', async () => {
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'done' }] });
    expect(await task.query(whyQuery)).toMatchObject({ status: 'completed', attention: 'recovery' });
    expect(await owed(task)).toHaveLength(1);
  });

  it('takes a dispatch at once, and queues both receipts when the store works', async () => {
    const [first] = await owed(task);
    const { attemptId } = await stage.dispatch(task);
    await stage.orderOf(attemptId);
    await restoreStore(stage);
    await stage.settled(task, attemptId);
    await until(async () => (await owed(task)).length === 0);
    expect((await rows(stage)).map((row) => row.receipt_id).sort()).toEqual(
      [first?.receiptId, `result:${attemptId}`].sort(),
    );
    const receipts = (await task.query(attemptsQuery)).map((attempt) => attempt.receipts.length);
    expect(receipts).toEqual([1, 1]);
  });
});
