import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { stopDirectUpdate } from '../../../contract/direct';
import { endWhenStopped, holdDirect, orderOf, resultOf, snapshotOf, startDirect, stop } from '../../helpers/direct';
import { goodReport } from '../../helpers/fake-host';
import { codeOf, Stage } from '../../helpers/stage';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});
beforeEach(() => {
  stage.host.run = (order) => goodReport(order);
});

const newest = ({ workflowId }: WorkflowHandle) => stage.client.workflow.getHandle(workflowId);

describe('a direct task', () => {
  it('is invoked once, in the repository itself, with the preamble before the unchanged instruction (DT-3, DT-8, DT-11)', async () => {
    const instruction = '  Say hello.\n\n@keep {this} as it is \n';
    const direct = await startDirect(stage, { instruction, permissionMode: 'read-only', operation: 'explain' });
    const task = await resultOf(direct);
    const order = await orderOf(stage, direct);
    expect(order).toMatchObject({
      mode: 'start',
      repository: '/repository',
      workspace: 'repository',
      policy: { sandbox: 'read-only', model: null },
    });
    expect(order.message).toMatch(/^You are invoked once/);
    expect(order.message.endsWith(instruction)).toBe(true);
    expect(task).toMatchObject({
      status: 'completed',
      invocationCount: 1,
      result: { text: 'done' },
      code: null,
      error: null,
      usage: { inputTokens: 100 },
      exit: { code: 0 },
      handle: { attemptId: order.attemptId, alias: `${task.id}:provider:1` },
    });
    expect(stage.host.orders.filter(({ attemptId }) => attemptId === order.attemptId)).toHaveLength(1);
  });

  it('queues its receipt after its result, and can be read after its end (DT-21, RQ-1)', async () => {
    const direct = await startDirect(stage);
    const task = await resultOf(direct);
    expect(task.receipt).toMatchObject({
      receiptId: `result:${task.id}:provider:1`,
      attemptId: task.handle?.attemptId,
      resultRef: `temporal:${direct.workflowId}:${task.handle?.attemptId ?? ''}`,
    });
    expect(await snapshotOf(direct)).toEqual(task);
    const shown = await direct.describe();
    const values = shown.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(values)).toMatchObject({ PerdureStatus: 'completed', PerdureAttention: 'none' });
  });

  it('keeps its status when the receipt cannot be stored, with a note beside it (RQ-7, RQ-8)', async () => {
    const id = 'D-conflict';
    await stage.store
      .insertInto('receipts')
      .values({
        sequence: 1_000_000,
        receipt_id: `result:${id}:provider:1`,
        attempt_id: 'x',
        result_ref: 'y',
        queued_at: 'z',
      })
      .execute();
    const direct = await startDirect(stage, { id });
    expect(await resultOf(direct)).toMatchObject({
      status: 'completed',
      error: null,
      receipt: null,
      recoveryNote: { code: 'receipt_conflict', evidence: [expect.stringContaining(id)] },
    });
  });

  it('that fails says the code and the error of its run, and runs no second time (DT-18, DT-20)', async () => {
    stage.host.run = (order) =>
      goodReport(order, {
        outcome: 'failed',
        code: 'RUN_FAILED',
        error: 'no luck',
        exit: { code: 1, signal: null, forced: false },
      });
    const task = await resultOf(await startDirect(stage));
    expect(task).toMatchObject({ status: 'failed', code: 'RUN_FAILED', error: 'no luck', invocationCount: 1 });
  });

  it('that could not be started has made no invocation, and has no receipt (DT-4, RQ-3)', async () => {
    const nothing = { exit: null, startedAt: null, spawns: 0, observation: null };
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'failed', code: 'workspace_missing', error: 'gone', ...nothing });
    const task = await resultOf(await startDirect(stage));
    expect(task).toMatchObject({ status: 'failed', code: 'workspace_missing', invocationCount: 0, receipt: null });
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'failed', code: 'spawn_failed', error: 'EACCES', ...nothing });
    expect(await resultOf(await startDirect(stage))).toMatchObject({ code: 'spawn_failed', invocationCount: 1 });
  });

  it('of one id begins once, however often it is started (DT-1)', async () => {
    const direct = await startDirect(stage, { id: 'D-once' });
    await resultOf(direct);
    await expect(startDirect(stage, { id: 'D-once' })).rejects.toThrow(/already started/i);
  });

  it('comes to the same attempt after a reset to before it, so that the fence knows it (DF-6, DW-18)', async () => {
    const direct = await startDirect(stage);
    const first = await resultOf(direct);
    const { events } = await direct.fetchHistory();
    const done = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const { runId } = await direct.describe();
    await stage.client.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: direct.workflowId, runId },
      workflowTaskFinishEventId: done?.eventId ?? null,
      requestId: 'reset-1',
      reason: 'a test',
    });
    const again = await resultOf(newest(direct));
    expect(again.handle?.attemptId).toBe(first.handle?.attemptId);
    expect(again.receipt).toEqual(first.receipt);
  });
});

describe('a stop of a direct task', () => {
  it('before anything was asked of a host leaves the count at 0 and asks for nothing (DT-5, DT-26)', async () => {
    await stage.stopWorkers();
    const direct = await startDirect(stage);
    const stopping = stop(direct);
    await stage.startWorkers();
    const answer = await stopping;
    const task = await resultOf(direct);
    expect(answer).toMatchObject({ status: 'stopped', changed: true });
    expect(task).toMatchObject({ status: 'stopped', invocationCount: 0, handle: null, error: null, receipt: null });
    expect(stage.host.orders.filter((order) => order.task.taskId === task.id)).toEqual([]);
  });

  it('in mid-run is one operation, whatever the exit says (DT-18, DT-20, DT-24)', async () => {
    const { direct, order } = await holdDirect(stage);
    const answers = await Promise.all([stop(direct), stop(direct), stop(direct)]);
    expect(answers.filter(({ changed }) => changed)).toHaveLength(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['stopping']));
    const task = await resultOf(direct);
    expect(task).toMatchObject({
      status: 'stopped',
      code: null,
      error: null,
      invocationCount: 1,
      stop: { cause: 'user' },
    });
    expect(stage.host.stopped.filter((attemptId) => attemptId === order.attemptId)).toHaveLength(1);
  });

  it('makes it a stopped one although the run says that it failed (DT-18)', async () => {
    endWhenStopped(stage, { outcome: 'failed', code: 'killed_by_signal', error: 'SIGINT ended the provider' });
    const direct = await startDirect(stage);
    await orderOf(stage, direct);
    await stop(direct);
    expect(await resultOf(direct)).toMatchObject({ status: 'stopped', code: null, error: null });
  });

  it('by `temporal workflow cancel` is a stop as well', async () => {
    const { direct } = await holdDirect(stage);
    await direct.cancel();
    expect(await resultOf(direct)).toMatchObject({ status: 'stopped', stop: { actor: 'operator (workflow cancel)' } });
  });

  it('is carried out by the workers that come after those that took it', async () => {
    const { direct, order } = await holdDirect(stage);
    await stage.stopWorkers();
    const stopping = stop(direct);
    await stage.startWorkers();
    await stopping;
    expect(await resultOf(direct)).toMatchObject({ status: 'stopped', handle: { attemptId: order.attemptId } });
  });

  it('with a bad request is refused by the list of what is wrong', async () => {
    const { direct } = await holdDirect(stage);
    expect(await codeOf(direct.executeUpdate(stopDirectUpdate, { args: [{ bad: 1 } as never] }))).toBe(
      'INVALID_ARGUMENT',
    );
    await stop(direct);
    await resultOf(direct);
  });
});

describe('the deadline of a direct task', () => {
  const soon = (ms = 1_500) => new Date(Date.now() + ms).toISOString();

  it('stops it as a user would, and says another end (DT-13)', async () => {
    const deadlineAt = soon();
    const { direct, order } = await holdDirect(stage, { deadlineAt });
    expect(order.deadlineAt).toBe(deadlineAt);
    expect(await resultOf(direct)).toMatchObject({
      status: 'failed',
      code: 'deadline_reached',
      error: 'deadline reached',
      stop: { cause: 'deadline' },
      invocationCount: 1,
    });
    expect(stage.host.stopped).toContain(order.attemptId);
  });

  it('is the same one for whoever goes on with it (DT-10, test 12)', async () => {
    const deadlineAt = soon(4_000);
    const { direct, order } = await holdDirect(stage, { deadlineAt });
    await stage.stopWorkers();
    await stage.startWorkers();
    expect((await snapshotOf(direct)).deadlineAt).toBe(deadlineAt);
    const task = await resultOf(direct);
    expect(task).toMatchObject({ code: 'deadline_reached', deadlineAt });
    expect(Date.parse(task.stop?.at ?? '')).toBeGreaterThanOrEqual(Date.parse(deadlineAt));
    expect(new Set(stage.host.orders.filter(({ task: { taskId } }) => taskId === task.id))).toEqual(new Set([order]));
  });

  it('that the host enforced by itself is told as the deadline (DT-13)', async () => {
    const startedAt = new Date().toISOString();
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'failed', code: 'time_budget', error: 'the time limit was reached', startedAt });
    const deadlineAt = soon(60_000);
    expect(await resultOf(await startDirect(stage, { deadlineAt }))).toMatchObject({
      status: 'failed',
      code: 'deadline_reached',
    });
    const limits = { timeMs: 10_000 };
    expect(await resultOf(await startDirect(stage, { deadlineAt, limits }))).toMatchObject({ code: 'time_budget' });
  });

  it('that passed before anybody began it leaves the count at 0 (DT-13)', async () => {
    const direct = await startDirect(stage, {
      createdAt: '2026-01-01T00:00:00.000Z',
      deadlineAt: '2026-01-02T00:00:00.000Z',
    });
    expect(await resultOf(direct)).toMatchObject({
      status: 'failed',
      code: 'deadline_reached',
      invocationCount: 0,
      handle: null,
    });
  });

  it('in the past refuses the start, also of who starts the workflow himself (DT-13)', async () => {
    const direct = await startDirect(stage, {
      createdAt: '2026-01-02T00:00:00.000Z',
      deadlineAt: '2026-01-01T00:00:00.000Z',
    });
    const failed: unknown = await direct.result().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(WorkflowFailedError);
    expect((failed as WorkflowFailedError).cause).toMatchObject({ type: 'deadline_passed' });
  });
});
