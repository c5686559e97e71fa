import { TypedSearchAttributes } from '@temporalio/common';
import { dispatchTask, reopenTask, setTaskStatus, showProject } from '../../../client/index';
import { firstAttributes } from '../../../client/create-task';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../../contract/names';
import { newCarried } from '../../../contract/new-task';
import type { NewTask, Task } from '../../../contract/task';
import { callerOf, runToEnd } from '../../helpers/caller';
import { until } from '../../helpers/dev-server';
import { goodReport } from '../../helpers/fake-host';
import { idOf, newTask, Stage } from '../../helpers/stage';

describe('the reopening of a task', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.host.run = (order) => goodReport(order);
  });
  afterAll(() => stage.close());

  const completed = async (change: Partial<NewTask> = {}) => {
    const task = await stage.create(change);
    await setTaskStatus(callerOf(stage), idOf(task), { status: 'in_progress' });
    await setTaskStatus(callerOf(stage), idOf(task), { status: 'completed', result: 'r' });
    return task;
  };
  /** A task that came to its status in some other way than ours. */
  const carried = (change: Partial<Task>) => {
    const create = newTask();
    const { task, ...rest } = newCarried(create);
    return stage.client.workflow.start(WORKFLOW.task, {
      workflowId: taskWorkflowId({ tenantId: create.tenantId, taskId: create.id }),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ carried: { ...rest, task: { ...task, ...change } } }],
      typedSearchAttributes: new TypedSearchAttributes(firstAttributes({ type: WORKFLOW.task, newTask: create })),
    });
  };

  it('by a dispatch clears the outcome, is told once, and runs in a new thread (SC7, DS2, RO2, RO3, RN2, RN6, RN7)', async () => {
    const task = await stage.create();
    const taskId = idOf(task);
    await stage.settle(task, { completion: 'criteria' });
    const first = await stage.lastAttempt(task);
    const seen: Task[] = [];
    stage.host.run = async (order) => {
      seen.push(await stage.record(task));
      return goodReport(order);
    };
    const settled = await runToEnd(callerOf(stage), taskId);
    expect(settled).toMatchObject({ success: true, taskStatus: 'in_progress' });
    expect(seen).toMatchObject([{ status: 'in_progress', result: null, failureReason: null }]);
    const { activities, context } = await stage.record(task);
    expect(activities.filter(({ detail }) => detail.type === 'reopen')).toHaveLength(1);
    expect(stage.host.orders.at(-1)).toMatchObject({ task: { taskId }, mode: 'start', threadId: null });
    const { threadId } = await stage.lastAttempt(task);
    expect(threadId).not.toBe(first.threadId);
    expect(context.thread_id).toBe(threadId);
  });

  it.each(['completed', 'cancelled'] as const)(
    'is refused to a dispatch of a %s task that no agent owns, and nothing is written (SC8, DS3, DS13)',
    async (status) => {
      const task = await carried({ status, result: 'r', ownerType: 'user', ownerId: 'ada' });
      const before = await stage.record(task);
      const answer = await dispatchTask(callerOf(stage), { taskId: idOf(task) });
      expect(answer).toMatchObject({ success: false, code: 'TASK_TERMINAL', taskId: idOf(task), retryable: false });
      expect(await stage.record(task)).toEqual(before);
      const reopened = await reopenTask(callerOf(stage), idOf(task), {});
      expect(reopened).toMatchObject({ success: false, code: 'AGENT_TASK_REQUIRED' });
      expect(await stage.record(task)).toEqual(before);
    },
  );

  it('is refused to a dispatch of a managed task, and nothing is written (SC8, DS3, DS13, MA5)', async () => {
    const task = await completed({ metadata: { projectId: 'P-8' } });
    const before = await stage.record(task);
    const answer = await dispatchTask(callerOf(stage), { taskId: idOf(task) });
    expect(answer).toMatchObject({ success: false, code: 'TASK_TERMINAL', taskId: idOf(task), retryable: false });
    expect(answer).toMatchObject({ hint: expect.stringContaining('project') as unknown });
    expect(await stage.record(task)).toEqual(before);
    expect(await showProject(callerOf(stage), 'P-8')).toMatchObject({ code: 'PROJECT_NOT_FOUND' });
  });

  it.each(['at rest', 'to run'])('by its project %s keeps the thread (SC9, RO4, RO10, MA8)', async (how) => {
    const projectId = `P-9-${how}`;
    const task = await stage.create({ metadata: { projectId } });
    await dispatchTask(callerOf(stage), { taskId: idOf(task) });
    await until(async () => (await stage.record(task)).status === 'completed');
    const { threadId } = await stage.lastAttempt(task);
    expect(threadId).not.toBeNull();
    const dispatch = how === 'to run' ? { dispatch: { agentId: 'general-purpose', managedBy: projectId } } : {};
    expect(await reopenTask(callerOf(stage), idOf(task), dispatch)).toMatchObject({ success: true });
    await until(async () => (await stage.record(task)).status === 'in_progress');
    expect((await stage.record(task)).context.thread_id).toBe(threadId);
    if (how === 'at rest') return;
    await until(async () => (await stage.lastAttempt(task)).settledAt !== null);
    expect(stage.host.orders.at(-1)).toMatchObject({ task: { taskId: idOf(task) }, mode: 'resume', threadId });
  });
});
