import type { WorkflowHandle } from '@temporalio/client';
import { findOrphans, limitProject, pauseProject, resumeProject, showProject } from '../../client/index';
import type { Carried } from '../../contract/run';
import { setStatusUpdate, updateUpdate, type NewTask } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('what an operator does at a bad moment', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  beforeEach(() => {
    stage.host.run = (order) => goodReport(order);
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  });
  afterAll(() => stage.close());

  const ran = (task: WorkflowHandle) => stage.host.orders.filter((order) => order.task.taskId === idOf(task));
  const managed = (projectId: string, change: Partial<NewTask> = {}) =>
    stage.create({ metadata: { projectId }, ...change });

  it.each(['unknown', 'dead'] as const)(
    'never settles a restored run whose lease is open by a probe that says %s (OR7)',
    async (liveness) => {
      const task = await stage.create();
      await stage.settle(task);
      await task.executeUpdate(setStatusUpdate, { args: [{ status: 'failed', failureReason: 'again' }] });
      const order = await stage.hold(task);
      stage.host.probe = () => Promise.resolve({ liveness, evidence: [] });
      await task.terminate('by mistake');
      await stage.listed(task, "ExecutionStatus = 'Terminated'");
      await findOrphans(stage.session, { apply: true });
      stage.host.release(order);
      const fresh = stage.client.workflow.getHandle(task.workflowId);
      expect(await stage.settled(fresh, order.attemptId)).toMatchObject({ outcome: 'completed', code: null });
    },
  );

  it.each(['completed', 'cancelled'] as const)(
    'runs nothing by a stale place in a queue when the task left the project and is %s (MA1, MA5)',
    async (status) => {
      const projectId = `Q-${status}`;
      await pauseProject(stage.session, projectId);
      const task = await managed(projectId);
      await stage.ask(task);
      await task.executeUpdate(updateUpdate, { args: [{ metadata: {} }] });
      await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
      await task.executeUpdate(setStatusUpdate, { args: [{ status, result: 'by hand' }] });
      await resumeProject(stage.session, projectId);
      await until(async () => {
        const shown = await showProject(stage.session, projectId);
        return shown.success && shown.project.refused.length === 1;
      });
      expect((await stage.record(task)).status).toBe(status);
      expect(ran(task)).toEqual([]);
    },
  );

  it('brings back more ended chains than one sweep looks at, over several', async () => {
    const tasks = await Promise.all(Array.from({ length: 5 }, () => stage.create()));
    const orders = [];
    for (const task of tasks) orders.push(await stage.hold(task));
    for (const task of tasks) await task.terminate('all of them');
    for (const task of tasks) await stage.listed(task, "ExecutionStatus = 'Terminated'");
    for (let sweep = 0; sweep < 3; sweep += 1) {
      await stage.client.workflow.execute('sweepOrphans', {
        workflowId: `sweep/test/${String(sweep)}`,
        taskQueue: 'perdure',
        args: [{ limit: 2 }],
      });
    }
    for (const order of orders) stage.host.release(order);
    for (const [index, task] of tasks.entries()) {
      const fresh = stage.client.workflow.getHandle(task.workflowId);
      expect(await stage.settled(fresh, orders[index]?.attemptId ?? '')).toMatchObject({ number: 1 });
    }
  });

  it('tells a task again that waits, when what it was told of was reopened since (P96)', async () => {
    const [first, second] = [await stage.create(), await stage.create()];
    const task = await stage.create({ dependencies: [idOf(first), idOf(second)] });
    await stage.ask(task, { whenReady: true });
    await stage.settle(first, { completion: 'criteria' });
    await stage.settle(first);
    await stage.settle(second, { completion: 'criteria' });
    expect(ran(task)).toEqual([]);
    await first.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'again' }] });
    await until(() => ran(task).length === 1);
  });

  it('keeps a slot for a run whose chain was ended, and frees it when the run has settled', async () => {
    await limitProject(stage.session, 'S-1', 1);
    stage.host.run = stage.host.hold;
    const [first, second] = [await managed('S-1'), await managed('S-1')];
    await stage.ask(first);
    await until(() => ran(first).length === 1);
    await stage.ask(second);
    await first.terminate('by mistake');
    await stage.listed(first, "ExecutionStatus = 'Terminated'");
    await findOrphans(stage.session, { apply: true });
    expect(ran(second)).toEqual([]);
    const [order] = ran(first);
    if (order !== undefined) stage.host.release(order);
    stage.host.run = (given) => goodReport(given);
    await until(() => ran(second).length === 1);
  });

  it('refuses a request id that has led to an attempt already, in whatever phase (GN10)', async () => {
    const task = await stage.create();
    await stage.settle(task, { requestId: 'D-1', completion: 'criteria' });
    expect(await codeOf(stage.ask(task, { requestId: 'D-1', completion: 'caller' }))).toBe('REQUEST_CONFLICT');
    expect(ran(task)).toHaveLength(1);
  });

  it('lets a chain that was ended while its result was being recorded go on there', async () => {
    const task = await stage.create({ acceptance: ['true'] });
    await stage.settle(task, { completion: 'criteria' });
    const carried = await task.query<Carried>('carried');
    await task.terminate('in between');
    const attempts = carried.attempts.map((attempt) => ({ ...attempt, settledAt: null, receipts: [] }));
    const open: Carried = { ...carried, attempts, task: { ...carried.task, status: 'in_progress', result: null } };
    await stage.client.workflow.start('dispatchTask', {
      workflowId: task.workflowId,
      taskQueue: 'perdure',
      args: [{ carried: open }],
    });
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    const [attempt] = attempts;
    expect(await stage.settled(fresh, attempt?.attemptId ?? '')).toMatchObject({ outcome: 'completed' });
    expect((await stage.record(fresh)).status).toBe('completed');
    expect(ran(task)).toHaveLength(1);
  });
});
