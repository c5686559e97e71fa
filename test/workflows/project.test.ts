import type { WorkflowHandle } from '@temporalio/client';
import {
  explainTask,
  findOrphans,
  limitProject,
  pauseProject,
  resumeProject,
  showProject,
  stopTask,
} from '../../client/index';
import { projectWorkflowId } from '../../contract/names';
import { taskDispatchedSignal, type Project } from '../../contract/project';
import { decideUpdate } from '../../contract/decision';
import { reopenUpdate, workersUpgradedSignal } from '../../contract/run';
import { setStatusUpdate, updateUpdate, type NewTask } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('a task that a project manages', () => {
  let stage: Stage;
  let serial = 0;
  let projectId = '';
  beforeAll(async () => {
    stage = await Stage.open();
  });
  beforeEach(() => {
    projectId = `P-${String((serial += 1))}`;
    stage.host.run = (order) => goodReport(order);
  });
  afterAll(() => stage.close());

  let age = 0;
  const managed = (change: Partial<NewTask> = {}) => {
    const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, (age += 1))).toISOString();
    return stage.create({ metadata: { projectId }, createdAt, ...change });
  };
  const queue = async (): Promise<Project> => {
    const shown = await showProject(stage.session, projectId);
    if (!shown.success) throw new Error(shown.error);
    return shown.project;
  };
  const status = async (task: WorkflowHandle) => (await stage.record(task)).status;
  const finished = (task: WorkflowHandle) => until(async () => (await status(task)) === 'completed');
  const ran = (task: WorkflowHandle) => stage.host.orders.filter((order) => order.task.taskId === idOf(task));

  it('is handed to the queue, which runs it and records the outcome (MA2, MA3, MA8, MA9, SC15)', async () => {
    const task = await managed();
    expect(await stage.ask(task)).toEqual({ success: true, managed: true, taskId: idOf(task), projectId });
    await finished(task);
    expect(ran(task)).toHaveLength(1);
    await until(async () => (await queue()).running.length === 0);
  });

  it('changes in nothing by its dispatch, and is queued once however often it is dispatched (MA2, MA13 (P))', async () => {
    await pauseProject(stage.session, projectId);
    const task = await managed();
    const before = await stage.record(task);
    await Promise.all([stage.ask(task), stage.ask(task), stage.ask(task)]);
    expect((await queue()).queue.map(({ taskId }) => taskId)).toEqual([idOf(task)]);
    expect(await stage.record(task)).toEqual(before);
  });

  it('is taken by its queue whoever owns it, and left by it when no agent does (DS table)', async () => {
    const task = await managed({ ownerType: 'user', ownerId: 'ada' });
    expect(await stage.ask(task)).toMatchObject({ managed: true });
    await until(async () => (await queue()).refused.length === 1);
    expect((await queue()).refused).toMatchObject([{ taskId: idOf(task), code: 'AGENT_TASK_REQUIRED' }]);
    expect(ran(task)).toEqual([]);
  });

  it('is refused in progress, in review and when terminal, before the queue is asked (DS7, MA5, MA7, SC8, SC15)', async () => {
    const task = await managed({ requireReview: true });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    expect(await codeOf(stage.ask(task))).toBe('TASK_NOT_DISPATCHABLE');
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'r' }] });
    expect(await codeOf(stage.ask(task))).toBe('TASK_IN_REVIEW');
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'approve' }] });
    const before = await stage.record(task);
    expect(await codeOf(stage.ask(task))).toBe('TASK_TERMINAL');
    expect(await stage.record(task)).toEqual(before);
    expect(await showProject(stage.session, projectId)).toMatchObject({ success: false, code: 'PROJECT_NOT_FOUND' });
  });

  it('is never converged: its queue is responsible for it (MA6, OR12)', async () => {
    const task = await managed();
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    expect(await codeOf(stage.ask(task))).toBe('TASK_NOT_DISPATCHABLE');
    expect(await codeOf(task.executeUpdate('failOrphan', { args: [{}] }))).toBe('TASK_STATUS_CONFLICT');
    expect(await status(task)).toBe('in_progress');
  });

  it('keeps its thread when its project reopens it (RO4, RO10, SC9)', async () => {
    const task = await managed();
    await stage.ask(task);
    await finished(task);
    const thread = (await stage.lastAttempt(task)).threadId;
    await until(async () => (await task.describe()).type === 'task');
    const dispatch = { agentId: 'general-purpose', managedBy: projectId };
    await task.executeUpdate(reopenUpdate, { args: [{ dispatch }] });
    await until(() => ran(task).length === 2);
    expect(ran(task)[1]).toMatchObject({ threadId: thread, mode: 'resume' });
  });

  it.each([1, 2])('runs by priority, then age, and no more at once than the limit of %s', async (limit) => {
    await limitProject(stage.session, projectId, limit);
    await pauseProject(stage.session, projectId);
    stage.host.run = stage.host.hold;
    const made = ['low', 'medium', 'medium', 'high'] as const;
    const tasks = await Promise.all(
      made.map((priority, age) => managed({ priority, createdAt: `2026-01-0${String(9 - age)}T00:00:00.000Z` })),
    );
    for (const task of tasks) await stage.ask(task);
    const order = [3, 2, 1, 0].map((index) => idOf(tasks[index] ?? { workflowId: '' }));
    expect((await queue()).queue.map(({ taskId }) => taskId)).toEqual(order);
    await resumeProject(stage.session, projectId);
    const begun = () => stage.host.orders.filter(({ task }) => order.includes(task.taskId));
    for (let index = 0; index < 4; index += 1) {
      await until(() => begun().length >= Math.min(index + limit, 4));
      expect((await queue()).running.length).toBeLessThanOrEqual(limit);
      const next = begun()[index];
      if (next !== undefined) stage.host.release(next);
    }
    await until(async () => (await queue()).running.length === 0);
    // Two that start at once may come to the host in either order.
    const turns = begun().map(({ task }) => Math.floor(order.indexOf(task.taskId) / limit));
    expect(turns).toEqual([...turns].sort((a, b) => a - b));
    expect(new Set(begun().map(({ task }) => task.taskId))).toEqual(new Set(order));
  });

  it.each([
    ['failed', { outcome: 'failed', code: 'RUN_FAILED' }],
    ['stopped', { outcome: 'stopped', code: 'user_stopped' }],
    ['interrupted_owner', { outcome: 'interrupted_owner', code: 'interrupted_owner' }],
  ] as const)('frees its slot when its run ends %s, and can be dispatched again at once (P98)', async (_, end) => {
    await limitProject(stage.session, projectId, 1);
    const first = await managed();
    const second = await managed();
    stage.host.run = (order) => (order.task.taskId === idOf(first) ? goodReport(order, end) : goodReport(order));
    await stage.ask(first);
    await stage.ask(second);
    await finished(second);
    expect(await queue()).toMatchObject({ running: [], queue: [] });
    if (end.outcome === 'interrupted_owner')
      await first.executeUpdate(decideUpdate, { args: [{ decision: 'abandon' }] });
    stage.host.run = (order) => goodReport(order);
    expect(await stage.ask(first)).toMatchObject({ managed: true });
    await finished(first);
  });

  it('waits for its dependencies without a slot, and runs when the last one completes (PD7 (P), P96)', async () => {
    const other = await stage.create();
    const task = await managed({ dependencies: [idOf(other)] });
    await stage.ask(task);
    await until(async () => (await task.query<{ sentence: string }>('why')).sentence.includes(idOf(other)));
    expect(await queue()).toMatchObject({ running: [], queue: [] });
    await stage.settle(other, { completion: 'criteria' });
    await finished(task);
    expect(ran(task)).toHaveLength(1);
  });

  it('is run once when the queue is ended from outside and begins again, with all that it knew', async () => {
    await limitProject(stage.session, projectId, 1);
    stage.host.run = stage.host.hold;
    const [first, second] = [await managed(), await managed()];
    await stage.ask(first);
    await stage.ask(second);
    await until(() => ran(first).length === 1);
    const workflowId = projectWorkflowId({ tenantId: 'default', projectId });
    await stage.client.workflow.getHandle(workflowId).terminate('by mistake');
    await until(async () => {
      const closed = `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Terminated'`;
      return (await stage.client.workflow.count(closed)).count === 1;
    });
    const third = await managed();
    await stage.ask(third);
    await until(async () => (await queue()).queue.length === 2);
    expect(await queue()).toMatchObject({ limit: 1, running: [{ taskId: idOf(first) }] });
    for (const task of [first, second, third]) {
      await until(() => ran(task).length === 1);
      const [order] = ran(task);
      if (order !== undefined) stage.host.release(order);
      await finished(task);
    }
  });

  it('is lost by no roll-over of its queue, and run once (P54)', async () => {
    await limitProject(stage.session, projectId, 8);
    const tasks = await Promise.all(Array.from({ length: 30 }, () => managed()));
    const handle = stage.client.workflow.getHandle(projectWorkflowId({ tenantId: 'default', projectId }));
    for (const [index, task] of tasks.entries()) {
      await stage.ask(task);
      if (index % 5 === 0) await handle.signal(workersUpgradedSignal);
    }
    for (const task of tasks) await finished(task);
    expect(tasks.map((task) => ran(task).length)).toEqual(tasks.map(() => 1));
    await until(async () => (await queue()).running.length === 0);
  });

  it('leaves the queue when it is cancelled in it', async () => {
    await pauseProject(stage.session, projectId);
    const task = await managed();
    await stage.ask(task);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    await resumeProject(stage.session, projectId);
    await until(async () => (await queue()).refused.length === 1);
    expect((await queue()).refused).toMatchObject([{ code: 'TASK_TERMINAL' }]);
    expect(ran(task)).toEqual([]);
  });

  it('is decided by its record each time (MA1)', async () => {
    const task = await managed();
    await task.executeUpdate(updateUpdate, { args: [{ metadata: {} }] });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('does not run again by a dispatch that was on its way when its run began (MA7, MA13)', async () => {
    stage.host.run = stage.host.hold;
    const task = await managed();
    await stage.ask(task);
    await until(() => ran(task).length === 1);
    await until(async () => (await queue()).running.length === 1);
    const handle = stage.client.workflow.getHandle(projectWorkflowId({ tenantId: 'default', projectId }));
    const { priority, createdAt } = await stage.record(task);
    const order = { agentId: 'general-purpose', actor: 'tester' };
    const late = { taskId: idOf(task), priority, createdAt, lastAttemptId: null, order };
    await handle.signal(taskDispatchedSignal, late);
    expect((await queue()).queue).toEqual([]);
    await stopTask(stage.session, { taskId: idOf(task) }, () => undefined);
    await until(async () => (await queue()).running.length === 0);
    expect(await status(task)).toBe('interrupted');
    expect(ran(task)).toHaveLength(1);
  });

  it('leaves the queue by a stop while it waits, and says where it waits until then', async () => {
    await pauseProject(stage.session, projectId);
    const task = await managed();
    await stage.ask(task);
    const why = await explainTask(stage.session, idOf(task));
    expect(why).toMatchObject({
      sentence: expect.stringContaining('place 1 of 1'),
      next: expect.stringContaining('resume'),
    });
    const stopped = await stopTask(stage.session, { taskId: idOf(task) }, () => undefined);
    expect(stopped).toMatchObject({ success: true, stopped: true, taskStatus: 'pending' });
    expect((await queue()).queue).toEqual([]);
    expect(await stopTask(stage.session, { taskId: idOf(task) }, () => undefined)).toMatchObject({
      code: 'TASK_NOT_RUNNING',
    });
  });

  it.each(['a look at it', 'the sweep'])('is not left in a queue that was ended: %s begins it again', async (by) => {
    await pauseProject(stage.session, projectId);
    const task = await managed();
    await stage.ask(task);
    const workflowId = projectWorkflowId({ tenantId: 'default', projectId });
    await stage.client.workflow.getHandle(workflowId).terminate('by mistake');
    const closed = `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Terminated'`;
    await until(async () => (await stage.client.workflow.count(closed)).count === 1);
    if (by === 'the sweep') await findOrphans(stage.session, { apply: true });
    await until(async () => (await queue()).queue.length === 1);
    expect(await queue()).toMatchObject({ isPaused: true, queue: [{ taskId: idOf(task) }] });
  });
});
