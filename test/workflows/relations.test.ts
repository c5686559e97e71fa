import { addActivityUpdate, setStatusUpdate, updateUpdate } from '../../contract/task';
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

  it('refuse a dispatch until every dependency is completed, and write nothing (PD7, PD9)', async () => {
    const open = await stage.create();
    const task = await stage.create({ dependencies: [idOf(await completed('a')), idOf(open)] });
    const before = await stage.record(task);
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_DEPENDENCIES_INCOMPLETE');
    expect(await stage.record(task)).toEqual(before);
    await stage.settle(open, { completion: 'criteria' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('block a task whose dependency does not exist or is of another tenant (PD9, GN1)', async () => {
    const foreign = await stage.create({ tenantId: 'other' });
    const task = await stage.create({ dependencies: [idOf(foreign)] });
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_DEPENDENCIES_INCOMPLETE');
  });

  it('give the worker the parent and the results of the dependencies, as quoted data (PD6, WM7, WM8, WM10, WM12)', async () => {
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

  it('do without the section of a parent that is gone (PD11)', async () => {
    const task = await stage.create({ parentId: 'T-gone' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('refuse a circle, an ancestor as dependency, and unknown tasks, and change nothing (PD10)', async () => {
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
});
