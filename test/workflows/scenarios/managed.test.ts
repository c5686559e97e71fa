import { ApplicationFailure } from '@temporalio/common';
import { dispatchTask, setTaskStatus, updateTask } from '../../../client/index';
import { callerOf } from '../../helpers/caller';
import { idOf, Stage } from '../../helpers/stage';

describe('a dispatch of a managed task', () => {
  const told: string[] = [];
  let hook: () => void = () => undefined;
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({
      play: (real) => ({
        ...real,
        enqueueTask: ({ queued }) => {
          told.push(queued.taskId);
          hook();
          return Promise.resolve();
        },
      }),
    });
  });
  beforeEach(() => {
    told.length = 0;
    hook = () => undefined;
  });
  afterAll(() => stage.close());

  const managed = () => stage.create({ metadata: { projectId: 'P' } });
  const dispatch = (taskId: string) => dispatchTask(callerOf(stage), { taskId });

  it('tells the queue once and answers without a run or a thread (SC15, MA2, MA3, MA9, DS14)', async () => {
    const task = await managed();
    const before = await stage.record(task);
    const answer = await dispatch(idOf(task));
    expect(answer).toEqual({ success: true, managed: true, taskId: idOf(task), projectId: 'P' });
    expect(told).toEqual([idOf(task)]);
    expect(await stage.record(task)).toEqual(before);
    expect(before.context).toEqual({});
    expect(stage.host.orders).toEqual([]);
  });

  it('passes before agent and dependencies are looked at (DS6)', async () => {
    const task = await managed();
    const gone = await stage.create();
    await updateTask(callerOf(stage), idOf(task), { dependencies: [idOf(gone)] });
    expect(await dispatch(idOf(task))).toMatchObject({ managed: true });
    expect(await stage.ask(task, { agentId: 'nobody' })).toMatchObject({ managed: true });
  });

  it.each([
    ['that refuses', 'PROJECT_FULL', 'PROJECT_FULL'],
    ['that breaks', 'Error', 'MANAGED_START_FAILED'],
  ])('fails with a hook %s, and nothing is written (SC15, MA4, MA10 (P), DS13)', async (_, type, code) => {
    const task = await managed();
    const before = await stage.record(task);
    hook = () => {
      throw ApplicationFailure.nonRetryable('5000 tasks wait', type);
    };
    const refused = { success: false, code, error: '5000 tasks wait', retryable: true, taskId: idOf(task) };
    expect(await dispatch(idOf(task))).toMatchObject(refused);
    expect(told).toEqual([idOf(task)]);
    expect(await stage.record(task)).toEqual(before);
  });

  it('in progress is refused, the queue untold (SC15, MA7, DS7, DS18 (P))', async () => {
    const task = await managed();
    await setTaskStatus(callerOf(stage), idOf(task), { status: 'in_progress' });
    const before = await stage.record(task);
    const refused = { success: false, code: 'TASK_NOT_DISPATCHABLE', taskId: idOf(task), retryable: true };
    expect(await dispatch(idOf(task))).toMatchObject(refused);
    expect(told).toEqual([]);
    expect(await stage.record(task)).toEqual(before);
  });
});
