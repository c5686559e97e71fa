import { setStatusUpdate } from '../../contract/task';
import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';

describe('failOrphan', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const orphaned = async () => {
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null });
    const task = await stage.create();
    const attempt = await stage.settle(task);
    stage.host.run = (order) => goodReport(order);
    return { task, attempt };
  };

  it('fails an orphan on proof and retries it in the same call, in its stored thread (OR2, OR4, SC10)', async () => {
    const { task, attempt } = await orphaned();
    const second = await stage.settle(task);
    expect(second).toMatchObject({ mode: 'retry', threadId: attempt.threadId, outcome: 'completed' });
    const failures = (await stage.record(task)).activities.filter(({ detail }) => detail.code === 'no_executor');
    expect(failures).toHaveLength(1);
  });

  it.each(['alive', 'unknown'] as const)('never robs an executor that is %s (OR5, OR7, SC11)', async (liveness) => {
    const { task } = await orphaned();
    const before = await stage.record(task);
    stage.host.probe = () => Promise.resolve({ liveness, evidence: ['process 17 of it lives'] });
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_NOT_DISPATCHABLE');
    expect(await stage.record(task)).toEqual(before);
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: [] });
  });

  it('takes a host that cannot be asked as unknown (OR7)', async () => {
    const { task } = await orphaned();
    stage.host.probe = () => Promise.reject(new Error('the disk is on fire'));
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_NOT_DISPATCHABLE');
    expect((await stage.record(task)).status).toBe('in_progress');
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: [] });
  });

  it('lets one of two dispatches of an orphan through, and fails it once (DS12, OR16 (P), SC14)', async () => {
    const { task } = await orphaned();
    const answers = await Promise.allSettled([stage.dispatch(task), stage.dispatch(task)]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const attempt = await stage.lastAttempt(task);
    await stage.settled(task, attempt.attemptId);
    expect(attempt.number).toBe(2);
    const failures = (await stage.record(task)).activities.filter(({ detail }) => detail.code === 'no_executor');
    expect(failures).toHaveLength(1);
  });

  it('retries a task that was claimed by hand and never dispatched', async () => {
    const task = await stage.create();
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    expect(await stage.settle(task)).toMatchObject({ mode: 'retry', number: 1 });
  });

  it('takes a run that returned without an outcome as an orphan on the next dispatch (DS edge case)', async () => {
    const task = await stage.create();
    const first = await stage.settle(task);
    expect(await stage.settle(task)).toMatchObject({ mode: 'retry', threadId: first.threadId });
  });
});
