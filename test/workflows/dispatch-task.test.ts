import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';
import { addActivityUpdate, setStatusUpdate, updateUpdate, type ActivityEntry } from '../../contract/task';
import { stopUpdate } from '../../contract/run';

/** A server takes ten updates of one workflow at once, and is slow with the rest. */
const AT_ONCE = 9;
const manyTimes = async (count: number, request: (serial: number) => Promise<unknown>) => {
  for (let first = 0; first < count; first += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, nth) => request(first + nth)));
  }
};
const numberOf = ({ id }: ActivityEntry) => Number(id.slice(2));

describe('dispatchTask', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.host.run = (order) => goodReport(order);
  });
  afterAll(() => stage.close());

  it('runs a pending task on a fresh thread and leaves the outcome to the caller (DS1, RN2, RN10, RN12 (P), SR1, TS17)', async () => {
    const task = await stage.create();
    const attempt = await stage.settle(task);
    expect(attempt).toMatchObject({ mode: 'start', outcome: 'completed', spawns: 1, number: 1 });
    expect(attempt.receipts).toHaveLength(1);
    expect(attempt.executionResultId).toBe(`result:${attempt.attemptId}`);
    const record = await stage.record(task);
    expect(record.status).toBe('in_progress');
    expect(record.context).toMatchObject({ thread_id: attempt.threadId, run_id: attempt.attemptId });
  });

  it('refuses a dispatch while a run is in progress (DS4, DS12)', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_NOT_DISPATCHABLE');
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
  });

  it('retries a failed task on the same thread through resumeCodex (RN1, SR14 (P))', async () => {
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
    const first = await stage.settle(task);
    expect(await stage.record(task)).toMatchObject({ status: 'failed', failureReason: 'RUN_FAILED: no luck' });
    stage.host.run = (order) =>
      goodReport(order, { threadUsage: { inputTokens: 250, cachedInputTokens: 0, outputTokens: 30 } });
    const second = await stage.settle(task);
    expect(second).toMatchObject({ mode: 'retry', threadId: first.threadId, outcome: 'completed' });
    expect(second.usage).toEqual({ inputTokens: 150, cachedInputTokens: 0, outputTokens: 20 });
    expect(stage.host.orders.at(-1)).toMatchObject({ mode: 'resume', codexHome: '/codex-home' });
    const child = await stage.client.workflow.getHandle(`thread/codex/${String(first.threadId)}`).describe();
    expect(child).toMatchObject({ type: 'resumeCodex', status: { name: 'COMPLETED' } });
  });

  it('takes nothing from a run that answered for another thread (CX-16)', async () => {
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED' });
    const first = await stage.settle(task);
    stage.host.run = (order) => goodReport(order, { threadId: 'somebody-else' });
    const second = await stage.settle(task);
    expect(second).toMatchObject({ outcome: 'failed', code: 'thread_mismatch', observation: null });
    expect((await stage.record(task)).context.thread_id).toBe(first.threadId);
  });

  it('ends a run that a user stops, and the task is interrupted (US-4, RV10 (P))', async () => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    expect(await task.executeUpdate(stopUpdate, { args: [{}] })).toMatchObject({ stopping: true });
    const attempt = await stage.settled(task, attemptId);
    expect(attempt).toMatchObject({ outcome: 'stopped', code: 'user_stopped' });
    const { status, activities } = await stage.record(task);
    expect(status).toBe('interrupted');
    expect(activities.at(-1)).toMatchObject({ detail: { type: 'interrupted', reason: 'user_stop' } });
    expect(await task.executeUpdate(stopUpdate, { args: [{}] })).toMatchObject({ stopping: false });
  });

  it('counts an operator cancelling the workflow as a stop', async () => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    await task.cancel();
    expect(await stage.settled(task, attemptId)).toMatchObject({ outcome: 'stopped' });
  });

  it('goes on after an operator cancelled it at rest: a dispatch still judges and retries', async () => {
    const task = await stage.create();
    await stage.settle(task);
    await task.cancel();
    expect(await stage.settle(task)).toMatchObject({ mode: 'retry', outcome: 'completed' });
  });

  it('warns that a run still works when its task is completed under it', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    const answer = await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'r' }] });
    expect(answer.warnings).toEqual([expect.stringMatching(/still works/)]);
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
  });

  it('records the outcome by the acceptance criteria when the dispatch asks for it', async () => {
    const task = await stage.create({ acceptance: ['test -f hello.txt'] });
    await stage.settle(task, { completion: 'criteria' });
    expect(await stage.record(task)).toMatchObject({ status: 'completed', result: 'done' });
    expect(
      await codeOf(task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'again' }] })),
    ).toBe('TASK_STATUS_CONFLICT');
  });

  it('fails the task when a criterion is not met (TS18)', async () => {
    stage.host.criteria = ({ commands }) =>
      Promise.resolve(commands.map((command) => ({ command, met: false, exitCode: 1, output: '' })));
    const task = await stage.create({ acceptance: ['false'] });
    const attempt = await stage.settle(task, { completion: 'criteria' });
    expect(attempt.code).toBe('CRITERIA_NOT_MET');
    expect((await stage.record(task)).status).toBe('failed');
  });

  it('leaves a task whose executor died in progress, with an incident (RC-4)', async () => {
    stage.host.run = (order) =>
      goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null, observation: null });
    const task = await stage.create();
    const first = await stage.settle(task);
    expect((await stage.record(task)).status).toBe('in_progress');
    stage.host.run = (order) => goodReport(order);
    const second = await stage.settle(task);
    expect(second).toMatchObject({ mode: 'retry', threadId: first.threadId });
    const { activities } = await stage.record(task);
    expect(activities.filter(({ detail }) => detail.code === 'no_executor')).toHaveLength(1);
  });

  it('rolls over under a run of many changes, adopts the same attempt, and loses nothing', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    const runs = new Set<string>();
    await manyTimes(450, async (serial) => {
      await task.executeUpdate(updateUpdate, { args: [{ title: `title ${String(serial)}` }] });
      if (serial % 50 === 0) runs.add((await task.describe()).runId);
    });
    stage.host.release(order);
    const attempt = await stage.settled(task, order.attemptId);
    expect(attempt).toMatchObject({ outcome: 'completed', number: 1 });
    expect(runs.size).toBeGreaterThan(1);
    const moved = await stage.store.selectFrom('archive').selectAll().where('task', '=', task.workflowId).execute();
    const kept = (await stage.record(task)).activities;
    const entries = [...moved.map(({ body }) => JSON.parse(body) as ActivityEntry), ...kept];
    const numbers = entries.map(numberOf).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1));
    expect(entries.filter(({ detail }) => detail.type === 'update')).toHaveLength(450);
  });

  it('gives every note to exactly one run, however many came in (P117, RV8 (P))', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    await manyTimes(450, (serial) =>
      task.executeUpdate(addActivityUpdate, { args: [{ summary: `note <${String(serial)}>` }] }),
    );
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
    stage.host.run = (given) => goodReport(given);
    await stage.settle(task);
    await stage.settle(task);
    const [first = '', second = '', third = ''] = stage.host.orders.slice(-3).map(({ message }) => message);
    expect(first).not.toContain('note <');
    expect(second.match(/note <\d+>/g)).toHaveLength(450);
    expect(third).not.toContain('note <');
  });

  it('shows a changed title in lists', async () => {
    const task = await stage.create();
    await task.executeUpdate(updateUpdate, { args: [{ title: 'Say good-bye' }] });
    expect((await task.describe()).memo).toEqual({ title: 'Say good-bye' });
  });

  it('keeps the memo and search attributes over the phases', async () => {
    const task = await stage.create({ metadata: { projectId: 'P1' } });
    await stage.settle(task, { managedBy: 'P1' });
    const { memo, typedSearchAttributes } = await task.describe();
    expect(memo).toEqual({ title: 'Say hello' });
    const values = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(values)).toMatchObject({
      PerdureStatus: 'in_progress',
      PerdureAttention: 'outcome',
      PerdureProject: 'P1',
    });
  });
});
