import { createTask, showTask, updateTask } from '../../../client/index';
import { taskWorkflowId } from '../../../contract/names';
import { attemptsQuery } from '../../../contract/run';
import { callerOf } from '../../helpers/caller';
import { Stage } from '../../helpers/stage';

describe('the creation of a task', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const create = async (draft: Parameters<typeof createTask>[1]) => {
    const created = await createTask(callerOf(stage), draft);
    if (!created.success) throw new Error(created.error);
    return created.task;
  };

  it('stores a task as pending whatever status was asked for, and starts nothing (SC1, TR1, TR2)', async () => {
    const draft = { title: 'Say hello', status: 'completed' };
    const { id } = await create(draft);
    const shown = await showTask(callerOf(stage), id);
    expect(shown).toMatchObject({ success: true, task: { status: 'pending', result: null } });
    const task = stage.client.workflow.getHandle(taskWorkflowId({ tenantId: 'default', taskId: id }));
    expect(await task.query(attemptsQuery)).toEqual([]);
    expect(await task.describe()).toMatchObject({ type: 'task' });
    expect(stage.host.orders).toEqual([]);
  });

  it('stores nothing without a title, and refuses a task of another tenant as one that is not there (TR3, GN1, DS17 (P))', async () => {
    const caller = callerOf(stage);
    expect(await createTask(caller, { id: 'T-none', title: '  ' })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const missing = { success: false, code: 'TASK_NOT_FOUND', taskId: 'T-none', retryable: false };
    expect(await updateTask(caller, 'T-none', { title: 'x' })).toMatchObject(missing);
    const foreign = await stage.create({ id: 'T-theirs', tenantId: 'other' });
    expect(await updateTask(caller, 'T-theirs', { title: 'x' })).toMatchObject({ ...missing, taskId: 'T-theirs' });
    expect((await stage.record(foreign)).title).toBe('Say hello');
  });
});
