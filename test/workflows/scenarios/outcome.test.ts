import { dispatchTask, noteTask, setTaskStatus } from '../../../client/index';
import { taskQuery } from '../../../contract/task';
import { callerOf, runToEnd, waitFor, withHandles } from '../../helpers/caller';
import { goodReport } from '../../helpers/fake-host';
import { idOf, Stage } from '../../helpers/stage';

const nameOf = (query: string | { name: string }) => (typeof query === 'string' ? query : query.name);

describe('the outcome of a dispatched task', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.host.run = (order) => goodReport(order);
  });
  afterAll(() => stage.close());

  const complete = (taskId: string, executionResultId?: string) =>
    setTaskStatus(callerOf(stage), taskId, {
      status: 'completed',
      result: 'by the caller',
      ...(executionResultId !== undefined && { executionResultId }),
    });
  const ordersOf = (taskId: string) => stage.host.orders.filter(({ task }) => task.taskId === taskId);

  it('is recorded by a worker that completes by itself, once, and takes notes (SC2, SR2, SR5, SR12, TS9, TS10)', async () => {
    const task = await stage.create();
    const taskId = idOf(task);
    stage.host.run = async (order) => {
      await setTaskStatus(callerOf(stage), taskId, { status: 'completed', result: 'by the worker' });
      return goodReport(order);
    };
    const settled = await runToEnd(callerOf(stage), taskId);
    const { attemptId } = await stage.lastAttempt(task);
    const executionResultId = `result:${attemptId}`;
    expect(settled).toMatchObject({ success: true, observation: 'done', executionResultId, taskStatus: 'completed' });
    const before = await stage.record(task);
    expect(await complete(taskId, executionResultId)).toMatchObject({ success: false, code: 'TASK_STATUS_CONFLICT' });
    expect(await stage.record(task)).toEqual(before);
    expect(await noteTask(callerOf(stage), taskId, { summary: 'seen' })).toMatchObject({ status: 'completed' });
    expect(await stage.record(task)).toMatchObject({ status: 'completed', result: 'by the worker' });
  });

  it('is recorded by the caller when the worker left it open, with the id of the result (SC3, SR6, SR8, TS17)', async () => {
    const task = await stage.create();
    const settled = await runToEnd(callerOf(stage), idOf(task));
    if (!settled.success || settled.executionResultId === undefined) throw new Error(JSON.stringify(settled));
    expect(settled).toMatchObject({ observation: 'done', taskStatus: 'in_progress' });
    const { executionResultId } = settled;
    const answer = await complete(idOf(task), executionResultId);
    expect(answer).toEqual({ success: true, taskId: idOf(task), status: 'completed' });
    const record = await stage.record(task);
    expect(record).toMatchObject({ status: 'completed', result: 'by the caller' });
    expect(record.activities.at(-1)).toMatchObject({ detail: { type: 'completed' }, executionResultId });
  });

  it('of a worker that fails is a failure with its result, and the retry is in the same thread (SC4, SR3, SR7, SR10, SR14 (P), RN1)', async () => {
    const task = await stage.create();
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck', observation: null });
    const settled = await runToEnd(callerOf(stage), idOf(task));
    const { attemptId, threadId } = await stage.lastAttempt(task);
    const known = { taskId: idOf(task), agentId: 'general-purpose', threadId };
    const failed = { success: false, code: 'RUN_FAILED', error: 'no luck', taskStatus: 'failed' };
    expect(settled).toMatchObject({ ...known, ...failed, executionResultId: `result:${attemptId}` });
    expect(settled).not.toHaveProperty('observation');
    expect(await stage.record(task)).toMatchObject({ status: 'failed', failureReason: 'RUN_FAILED: no luck' });
    expect(await complete(idOf(task))).toMatchObject({ code: 'TASK_STATUS_CONFLICT' });
    stage.host.run = (order) => goodReport(order);
    expect(await runToEnd(callerOf(stage), idOf(task))).toMatchObject({ success: true, threadId });
    expect(ordersOf(idOf(task)).map((order) => order.threadId)).toEqual([null, threadId]);
  });

  it.each(['completed', 'failed'] as const)(
    'of a run that %s is the same without a status when only the re-read fails (SC5, SR4, GN7)',
    async (outcome) => {
      const task = await stage.create();
      const change = outcome === 'failed' ? { outcome, code: 'RUN_FAILED' as const, error: 'no luck' } : {};
      stage.host.run = (order) => goodReport(order, change);
      const { attemptId } = await stage.settle(task);
      const key = { taskId: idOf(task), attemptId };
      const whole = await waitFor(callerOf(stage), key);
      expect(whole).toMatchObject({ taskStatus: outcome === 'failed' ? 'failed' : 'in_progress' });
      let refusals = 0;
      const blind = withHandles(callerOf(stage), (handle) => ({
        query: (query, ...args) => {
          if (nameOf(query) !== taskQuery.name) return handle.query(query, ...args);
          refusals += 1;
          return Promise.reject(new Error('the store is away'));
        },
      }));
      const { taskStatus: _, ...rest } = { taskStatus: undefined, ...whole };
      expect(await waitFor(blind, key)).toEqual(rest);
      expect(refusals).toBe(1);
    },
  );

  it('of an interruption with a summary alone is missing_input, and a dispatch resumes the thread (SC6, RV1, RV2, RV3, DS1, SR7, SR15 (P))', async () => {
    const task = await stage.create();
    const taskId = idOf(task);
    stage.host.run = async (order) => {
      await setTaskStatus(callerOf(stage), taskId, { status: 'interrupted', summary: 'Which colour?' });
      return goodReport(order);
    };
    const settled = await runToEnd(callerOf(stage), taskId);
    expect(settled).toMatchObject({ success: true, taskStatus: 'interrupted' });
    const last = (await stage.record(task)).activities.at(-1);
    expect(last).toMatchObject({ summary: 'Which colour?', detail: { type: 'interrupted', reason: 'missing_input' } });
    const { threadId } = await stage.lastAttempt(task);
    stage.host.run = (order) => goodReport(order);
    const resumed = await dispatchTask(callerOf(stage), { taskId });
    if (!resumed.success || !('attemptId' in resumed)) throw new Error(JSON.stringify(resumed));
    expect(resumed.mode).toBe('resume');
    expect(await waitFor(callerOf(stage), resumed)).toMatchObject({ success: true, threadId });
    expect(ordersOf(taskId).at(-1)).toMatchObject({ mode: 'resume', threadId });
  });
});
