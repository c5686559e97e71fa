import { redispatchTask, showTask } from '../../client/index';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { carriedQuery, reopenSchema, reopenUpdate } from '../../contract/run';
import { setStatusUpdate } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('reopenTask', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const completed = async () => {
    const task = await stage.create();
    const attempt = await stage.settle(task, { completion: 'criteria' });
    expect((await stage.record(task)).status).toBe('completed');
    return { task, attempt };
  };

  it('reopens a completed task on dispatch, with a fresh thread and the earlier outcome kept (DS2, RO2, RO3, RO6)', async () => {
    const { task, attempt } = await completed();
    const second = await stage.settle(task);
    expect(second.mode).toBe('reopen');
    expect(second.threadId).not.toBe(attempt.threadId);
    const record = await stage.record(task);
    expect(record).toMatchObject({ status: 'in_progress', result: null, failureReason: null });
    const reopened = record.activities.filter(({ detail }) => detail.type === 'reopen');
    expect(reopened).toHaveLength(1);
    expect(reopened[0]?.detail).toMatchObject({ earlier: { status: 'completed', result: 'done' } });
  });

  it('keeps the thread of a task that is reopened without a dispatch (RO4)', async () => {
    const { task, attempt } = await completed();
    await task.executeUpdate(reopenUpdate, { args: [{}] });
    await until(async () => (await stage.record(task)).status === 'in_progress');
    expect((await stage.record(task)).context.thread_id).toBe(attempt.threadId);
  });

  it('lets one of two concurrent reopenings through (RO1, RO8)', async () => {
    const { task } = await completed();
    const answers = await Promise.allSettled([1, 2].map(() => task.executeUpdate(reopenUpdate, { args: [{}] })));
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await until(async () => (await stage.record(task)).status === 'in_progress');
    expect((await stage.record(task)).activities.filter(({ detail }) => detail.type === 'reopen')).toHaveLength(1);
  });

  it('refuses to reopen a task that is not terminal (RO1)', async () => {
    expect(await codeOf((await stage.create()).executeUpdate(reopenUpdate, { args: [{}] }))).toBe(
      'TASK_STATUS_CONFLICT',
    );
  });

  it('completes a reopened task once more, and only once (RO9)', async () => {
    const { task } = await completed();
    await stage.settle(task);
    const complete = () => task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'twice' }] });
    await complete();
    expect(await codeOf(complete())).toBe('TASK_STATUS_CONFLICT');
  });

  it('runs at once in the same thread when it is to keep it (RO4, RO5)', async () => {
    const { task, attempt } = await completed();
    const outcome = await redispatchTask(stage.session, { taskId: idOf(task), keepThread: true });
    if (!outcome.success) throw new Error(outcome.error);
    expect(await stage.settled(task, outcome.attemptId)).toMatchObject({ mode: 'reopen', threadId: attempt.threadId });
  });

  it('runs at once in a fresh thread unless it is to keep it (RO6)', async () => {
    const { task, attempt } = await completed();
    const outcome = await redispatchTask(stage.session, { taskId: idOf(task), keepThread: false });
    if (!outcome.success) throw new Error(outcome.error);
    const second = await stage.settled(task, outcome.attemptId);
    expect(second.mode).toBe('reopen');
    expect(second.threadId).not.toBe(attempt.threadId);
  });

  it('reopens again when the completion and the next reopening come in with the first one (RO1, RO9)', async () => {
    const { task } = await completed();
    const carried = await task.query(carriedQuery);
    const reopen = reopenSchema.parse({ actor: 'ada' });
    await stage.stopWorkers();
    const phase = await stage.client.workflow.start(WORKFLOW.reopenTask, {
      workflowId: taskWorkflowId({ tenantId: 'default', taskId: 'T-again' }),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ carried: { ...carried, intent: { kind: 'reopen', reopen, then: null } } }],
    });
    const asked = Promise.all([
      phase.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'once more' }] }),
      phase.executeUpdate(reopenUpdate, { args: [{ actor: 'bob' }] }),
    ]);
    await stage.startWorkers();
    await asked;
    const chain = stage.client.workflow.getHandle(phase.workflowId);
    await until(async () => (await chain.describe()).type === 'task');
    await until(async () => (await stage.record(chain)).status === 'in_progress');
    const { activities } = await stage.record(chain);
    expect(activities.flatMap(({ detail }) => (detail.type === 'reopen' ? [detail.earlier] : []))).toMatchObject([
      { result: 'done' },
      { result: 'once more' },
    ]);
  });

  it('keeps every earlier outcome readable (RO7, RO9)', async () => {
    const { task } = await completed();
    await stage.settle(task, { completion: 'criteria' });
    await task.executeUpdate(reopenUpdate, { args: [{ actor: 'ada' }] });
    await until(async () => (await stage.record(task)).status === 'in_progress');
    const shown = await showTask(stage.session, idOf(task), { withHistory: true });
    expect(shown).toMatchObject({ history: [{ status: 'completed', result: 'done' }, { reopenedBy: 'ada' }] });
  });
});
