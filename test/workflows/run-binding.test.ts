import { dispatchTask, setTaskStatus, updateTask } from '../../client/index';
import { carriedQuery } from '../../contract/run';
import type { Task } from '../../contract/task';
import { callerOf, runToEnd, waitFor } from '../helpers/caller';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { idOf, Stage } from '../helpers/stage';

describe('a run', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.host.run = (order) => goodReport(order);
  });
  afterAll(() => stage.close());

  const set = (taskId: string, change: Parameters<typeof setTaskStatus>[2]) =>
    setTaskStatus(callerOf(stage), taskId, change);

  it.each(['pending', 'interrupted', 'failed', 'completed', 'cancelled'] as const)(
    'begins when a task that was %s is claimed and moved to its agent (RN5, RN6, TS6)',
    async (status) => {
      const task = await stage.create({ ownerId: 'ada' });
      if (status !== 'pending') await set(idOf(task), { status: 'in_progress' });
      const words = { result: 'r', failureReason: 'f', summary: 's' };
      if (status !== 'pending') await set(idOf(task), { status, ...words });
      // What a cancelled task owes to its children comes first.
      await until(async () => !(await task.query(carriedQuery)).owesCancel);
      const seen: Task[] = [];
      stage.host.run = async (order) => {
        seen.push(await stage.record(task));
        return goodReport(order);
      };
      const { attemptId } = await stage.settle(task);
      expect(seen).toMatchObject([
        { status: 'in_progress', ownerId: 'general-purpose', context: { run_id: attemptId } },
      ]);
    },
  );

  it('does not begin when the claim fails, and the caller hears why (RN8, PD9 (P), GN5)', async () => {
    const open = await stage.create();
    const task = await stage.create({ dependencies: [idOf(open)] });
    const before = await stage.record(task);
    expect(await dispatchTask(callerOf(stage), { taskId: idOf(task) })).toMatchObject({
      success: false,
      code: 'TASK_DEPENDENCIES_INCOMPLETE',
      error: expect.stringContaining(idOf(task)) as unknown,
      hint: expect.stringContaining(`${idOf(open)} is pending`) as unknown,
      retryable: true,
    });
    expect(await stage.record(task)).toEqual(before);
    expect(stage.host.orders.filter(({ task: { taskId } }) => taskId === idOf(task))).toEqual([]);
  });

  it('never shares a thread with another one, and claims nothing for it (DS11, RN13 (P))', async () => {
    const holder = await stage.create();
    const { threadId } = await stage.settle(holder);
    const order = await stage.hold(holder);
    const other = await stage.create();
    await set(idOf(other), { status: 'in_progress' });
    await set(idOf(other), { status: 'interrupted', summary: 's' });
    await updateTask(callerOf(stage), idOf(other), { context: { thread_id: threadId } });
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: [] });
    const before = await stage.record(other);
    const answer = await runToEnd(callerOf(stage), idOf(other));
    expect(answer).toMatchObject({ success: false, code: 'THREAD_BUSY', retryable: true });
    expect(await stage.record(other)).toEqual(before);
    expect(stage.host.orders.filter((each) => each.task.taskId === idOf(other))).toEqual([]);
    stage.host.release(order);
    expect(await stage.settled(holder, order.attemptId)).toMatchObject({ outcome: 'completed', threadId });
  });

  it('is awaited by its caller until it has settled (DS14)', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    stage.host.run = (given) => goodReport(given);
    const events: string[] = [];
    const waiting = waitFor(callerOf(stage), { taskId: idOf(task), attemptId: order.attemptId });
    const noted = waiting.then(() => events.push('answered'));
    await updateTask(callerOf(stage), idOf(task), { title: 'while it runs' });
    events.push('released');
    stage.host.release(order);
    await noted;
    expect(events).toEqual(['released', 'answered']);
    expect(await waiting).toMatchObject({ success: true });
  });

  it('of a task that is cancelled is stopped, and its completion is refused (TS22 (P))', async () => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    await set(idOf(task), { status: 'cancelled' });
    expect(await stage.settled(task, attemptId)).toMatchObject({ outcome: 'stopped' });
    expect(stage.host.stopped).toContain(attemptId);
    expect(await set(idOf(task), { status: 'completed', result: 'r' })).toMatchObject({ code: 'TASK_STATUS_CONFLICT' });
    expect((await stage.record(task)).status).toBe('cancelled');
  });

  it('tells a refusal as a value, whatever is asked (GN3, DS17 (P))', async () => {
    const caller = callerOf(stage);
    const task = await stage.create();
    const asked = [
      [{ taskId: 'T-gone' }, 'TASK_NOT_FOUND'],
      [{ taskId: 'a/b' }, 'INVALID_ARGUMENT'],
      [{ taskId: idOf(task), agentId: 'nobody' }, 'AGENT_NOT_FOUND'],
    ] as const;
    for (const [request, code] of asked) {
      const answer = await dispatchTask(caller, request);
      expect(answer).toMatchObject({ success: false, code, retryable: false, taskId: request.taskId });
    }
  });
});
