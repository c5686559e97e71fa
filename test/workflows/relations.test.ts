import { addActivityUpdate, setStatusUpdate, updateUpdate } from '../../contract/task';
import { createTask } from '../../client/index';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('relations of tasks', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const completed = async (result: string) => {
    const task = await stage.create({ title: 'A part' });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result }] });
    return task;
  };

  it('refuse a dispatch until every dependency is completed, and write nothing (PD7 (P), PD9 (P))', async () => {
    const open = await stage.create();
    const task = await stage.create({ dependencies: [idOf(await completed('a')), idOf(open)] });
    const before = await stage.record(task);
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_DEPENDENCIES_INCOMPLETE');
    expect(await stage.record(task)).toEqual(before);
    await stage.settle(open, { completion: 'criteria' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('block a task whose dependency does not exist or is of another tenant (PD9 (P), GN1)', async () => {
    const foreign = await stage.create({ tenantId: 'other' });
    const task = await stage.create({ dependencies: [idOf(foreign)] });
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_DEPENDENCIES_INCOMPLETE');
  });

  it('give the worker the parent and the results of the dependencies, as quoted data (PD6, WM7, WM8, WM10 (P), WM12 (P))', async () => {
    const parent = await stage.create({ title: 'The whole', description: 'The contract.\n# Not a heading of mine' });
    const dependency = await completed('forty-two '.repeat(1_000));
    const task = await stage.create({ parentId: idOf(parent), dependencies: [idOf(dependency)] });
    const { attemptId } = await stage.settle(task);
    const message = stage.host.orders.find((order) => order.attemptId === attemptId)?.message ?? '';
    expect(message).toContain(`## Parent task ${idOf(parent)}: The whole`);
    expect(message).toContain('> # Not a heading of mine');
    expect(message).toContain('> forty-two');
    expect(message).toContain('[cut]');
    expect(message.length).toBeLessThan(6_000);
  });

  it('do without the section of a parent that is gone (PD11 (P))', async () => {
    const task = await stage.create({ parentId: 'T-gone' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('refuse a circle, an ancestor as dependency, and unknown tasks, and change nothing (PD10 (P))', async () => {
    const first = await stage.create();
    const second = await stage.create({ dependencies: [idOf(first)], parentId: idOf(first) });
    const change = (dependencies: string[]) => first.executeUpdate(updateUpdate, { args: [{ dependencies }] });
    expect(await codeOf(change([idOf(second)]))).toBe('DEPENDENCY_CYCLE');
    expect(await codeOf(change([idOf(first)]))).toBe('DEPENDENCY_CYCLE');
    expect(await codeOf(change(['T-gone']))).toBe('INVALID_ARGUMENT');
    expect((await stage.record(first)).dependencies).toEqual([]);
    await first.executeUpdate(addActivityUpdate, { args: [{ summary: 'still answers' }] });
  });

  it('leave a parent alone when a child settles (PD8)', async () => {
    const parent = await stage.create();
    const child = await stage.create({ parentId: idOf(parent) });
    await stage.settle(child, { completion: 'criteria' });
    expect((await stage.record(parent)).status).toBe('pending');
  });

  it('let a task start by itself when the last one completes, and say until then by whom it is blocked (PD7, P96)', async () => {
    const [first, second] = [await stage.create(), await stage.create()];
    const task = await stage.create({ dependencies: [idOf(first), idOf(second)] });
    expect(await stage.ask(task, { whenReady: true })).toEqual({
      success: true,
      taskId: idOf(task),
      waitsFor: [idOf(first), idOf(second)],
    });
    expect(await task.query('why')).toMatchObject({
      status: 'pending',
      sentence: expect.stringContaining(idOf(second)),
    });
    await stage.settle(first, { completion: 'criteria' });
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED' });
    await stage.settle(second, { completion: 'criteria' });
    expect((await stage.record(second)).status).toBe('failed');
    expect((await stage.record(task)).status).toBe('pending');
    stage.host.run = (order) => goodReport(order);
    await stage.settle(second, { completion: 'criteria' });
    await until(async () => (await task.query<unknown[]>('attempts')).length === 1);
    await until(() => stage.host.orders.some((order) => order.task.taskId === idOf(task)));
  });

  it('are looked at again when they are changed, and a stop takes the wait back (US)', async () => {
    const open = await stage.create();
    const [task, other] = [
      await stage.create({ dependencies: [idOf(open)] }),
      await stage.create({ dependencies: [idOf(open)] }),
    ];
    await stage.ask(task, { whenReady: true });
    await stage.ask(other, { whenReady: true });
    expect(await other.executeUpdate('stop', { args: [{}] })).toMatchObject({ stopping: false });
    await task.executeUpdate(updateUpdate, { args: [{ dependencies: [idOf(await completed('a'))] }] });
    await until(async () => (await task.query<unknown[]>('attempts')).length === 1);
    await stage.settle(open, { completion: 'criteria' });
    expect((await stage.record(other)).status).toBe('pending');
  });

  it('cancel the pending children with their parent, and ask the running ones to stop (PD13 (P))', async () => {
    const parent = await stage.create();
    const parentId = idOf(parent);
    const [pending, running, done] = [
      await stage.create({ parentId }),
      await stage.create({ parentId }),
      await stage.create({ parentId }),
    ];
    await stage.settle(done, { completion: 'criteria' });
    const order = await stage.hold(running);
    const counted = `PerdureParent = '${parentId}' AND ExecutionStatus = 'Running' AND PerdureAttention = 'running'`;
    await until(async () => (await stage.client.workflow.count(counted)).count === 1);
    await parent.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    await until(async () => (await stage.record(pending)).status === 'cancelled');
    await stage.settled(running, order.attemptId);
    expect((await stage.record(running)).status).toBe('interrupted');
    expect((await stage.record(done)).status).toBe('completed');
    stage.host.run = (given) => goodReport(given);
  });

  it('are bounded to 100 children of one task (PD14 (P))', async () => {
    const parent = await stage.create();
    await Promise.all(Array.from({ length: 100 }, () => stage.create({ parentId: idOf(parent) })));
    const counted = `PerdureParent = '${idOf(parent)}' AND ExecutionStatus = 'Running'`;
    await until(async () => (await stage.client.workflow.count(counted)).count === 100);
    const task = await stage.create();
    const adopt = task.executeUpdate(updateUpdate, { args: [{ parentId: idOf(parent) }] });
    expect(await codeOf(adopt)).toBe('INVALID_ARGUMENT');
    expect((await stage.record(task)).parentId).toBeUndefined();
    const made = await createTask(stage.session, { title: 'one more', parentId: idOf(parent) });
    expect(made).toMatchObject({ success: false, code: 'INVALID_ARGUMENT' });
  });

  it('let a child be dispatched that was created pending, and leave its parent as it was (PD3, OR14)', async () => {
    const parent = await stage.create();
    await parent.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    const before = await stage.record(parent);
    const child = await stage.create({ parentId: idOf(parent) });
    expect(await stage.record(child)).toMatchObject({ status: 'pending', parentId: idOf(parent) });
    await stage.settle(child);
    expect(await stage.settle(child)).toMatchObject({ mode: 'retry', number: 2 });
    expect(await stage.record(parent)).toEqual(before);
  });

  it('do not reopen a parent with its child (RO13 (P))', async () => {
    const parent = await completed('whole');
    const child = await stage.create({ parentId: idOf(parent) });
    await stage.settle(child, { completion: 'criteria' });
    expect(await stage.settle(child)).toMatchObject({ mode: 'reopen' });
    expect(await stage.record(parent)).toMatchObject({ status: 'completed', result: 'whole' });
  });

  it('let siblings run side by side (PD12 (P))', async () => {
    const parent = await stage.create();
    const [one, two] = [await stage.create({ parentId: idOf(parent) }), await stage.create({ parentId: idOf(parent) })];
    const orders = [await stage.hold(one), await stage.hold(two)];
    stage.host.run = (order) => goodReport(order);
    for (const order of orders) stage.host.release(order);
    for (const [index, task] of [one, two].entries()) {
      const attempt = await stage.settled(task, orders[index]?.attemptId ?? '');
      expect(attempt).toMatchObject({ outcome: 'completed', number: 1 });
    }
  });
});
