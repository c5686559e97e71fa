import { addActivityUpdate, setStatusUpdate, updateUpdate } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';

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
  const idOf = ({ workflowId }: { workflowId: string }) => workflowId.split('/').at(-1) ?? '';

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

  it('cancel the pending children of a cancelled parent, and stop the running ones (PD13 (P))', async () => {
    const parent = await stage.create();
    const [pending, running, done] = [
      await stage.create({ parentId: idOf(parent) }),
      await stage.create({ parentId: idOf(parent) }),
      await stage.create({ parentId: idOf(parent) }),
    ];
    await stage.settle(done, { completion: 'criteria' });
    const { attemptId } = await stage.hold(running);
    stage.host.run = (order) => goodReport(order);
    const listed = `PerdureParent = '${idOf(parent)}' AND PerdureStatus IN ('pending', 'in_progress')`;
    await until(
      async () => (await stage.client.workflow.count(`ExecutionStatus = 'Running' AND ${listed}`)).count === 2,
    );
    await parent.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    await until(async () => (await stage.record(pending)).status === 'cancelled');
    expect(await stage.settled(running, attemptId)).toMatchObject({ outcome: 'stopped' });
    expect((await stage.record(done)).status).toBe('completed');
  });
});
