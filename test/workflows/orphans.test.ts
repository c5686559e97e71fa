import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { dispatchTask, findOrphans } from '../../client/index';
import { orphanWorkflowId, threadWorkflowId, ORCHESTRATOR_QUEUE, WORKFLOW } from '../../contract/names';
import type { OrphanFinding } from '../../contract/orphan';
import { reopenUpdate } from '../../contract/run';
import { addActivityUpdate, setStatusUpdate, whyQuery, type StatusChange } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('orphans', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  beforeEach(() => {
    stage.host.run = (order) => goodReport(order);
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  });
  afterAll(() => stage.close());

  const claimed = async (change: Omit<StatusChange, 'status'> = {}) => {
    const task = await stage.create();
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress', ...change }] });
    await stage.listed(task, "PerdureAttention = 'claimed'");
    return task;
  };
  const sweep = async (task: WorkflowHandle, apply = true): Promise<OrphanFinding | undefined> => {
    const outcome = await findOrphans(stage.session, { apply });
    if (!outcome.success) throw new Error(outcome.error);
    return outcome.orphans.find(({ taskId }) => taskId === idOf(task));
  };
  const terminated = async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'before the end' }] });
    await task.terminate('by mistake');
    await stage.listed(task, "ExecutionStatus = 'Terminated'");
    return { task, order };
  };

  it('are failed when the run that claimed them is proven dead, and only told of without --apply (OR2)', async () => {
    const task = await claimed({ runId: randomUUID() });
    expect(await sweep(task, false)).toMatchObject({ kind: 'claimed', liveness: 'dead', action: 'left' });
    expect((await stage.record(task)).status).toBe('in_progress');
    expect(await sweep(task)).toMatchObject({ liveness: 'dead', action: 'failed' });
    const record = await stage.record(task);
    expect(record).toMatchObject({ status: 'failed', failureReason: expect.stringContaining('no_executor') });
    expect(await sweep(task)).toBeUndefined();
  });

  it.each(['alive', 'unknown'] as const)(
    'are left alone while the executor is %s (OR7, OR15, SC12)',
    async (liveness) => {
      const task = await claimed({ runId: randomUUID(), threadId: randomUUID() });
      stage.host.probe = () => Promise.resolve({ liveness, evidence: ['process 17'] });
      expect(await sweep(task)).toMatchObject({
        liveness,
        action: 'left',
        evidence: expect.arrayContaining(['process 17']),
      });
      expect(await codeOf(stage.dispatch(task))).toBe('TASK_NOT_DISPATCHABLE');
      expect((await stage.record(task)).status).toBe('in_progress');
    },
  );

  it('are left alone when the claim names no run: only a dispatch takes them over', async () => {
    const task = await claimed();
    expect(await sweep(task)).toMatchObject({ liveness: 'unknown', action: 'left' });
    expect(await stage.settle(task)).toMatchObject({ mode: 'retry', outcome: 'completed' });
  });

  it('are alive while somebody holds the thread that they are bound to, wherever that is (OR5, OR6, SC11)', async () => {
    const threadId = randomUUID();
    const task = await claimed({ threadId });
    const lease = await stage.client.workflow.start(WORKFLOW.project, {
      workflowId: threadWorkflowId(threadId),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ tenantId: 'default', projectId: 'stands-for-a-lease' }],
    });
    expect(await sweep(task)).toMatchObject({ liveness: 'alive', action: 'left' });
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_NOT_DISPATCHABLE');
    await lease.terminate();
    expect(await sweep(task)).toMatchObject({ liveness: 'dead', action: 'failed' });
  });

  it('are alive while another task runs on their thread (OR5, SC11)', async () => {
    const other = await stage.create();
    const first = await stage.settle(other);
    await other.executeUpdate(setStatusUpdate, { args: [{ status: 'failed', failureReason: 'again' }] });
    const task = await claimed({ threadId: first.threadId ?? '' });
    const order = await stage.hold(other);
    await stage.listed(other, "PerdureAttention = 'running'");
    expect(await sweep(task)).toMatchObject({ liveness: 'alive', action: 'left' });
    stage.host.release(order);
    await stage.settled(other, order.attemptId);
  });

  it('do not include what waits for an outcome or a decision', async () => {
    const returned = await stage.create();
    await stage.settle(returned);
    stage.host.run = (order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    const lost = await stage.create();
    await stage.settle(lost);
    await stage.listed(lost, "PerdureAttention = 'recovery'");
    expect(await sweep(returned)).toBeUndefined();
    expect(await sweep(lost)).toBeUndefined();
  });

  it('brings a chain back that was terminated in mid-run, whole, and adopts the run that lives', async () => {
    const { task, order } = await terminated();
    expect(await sweep(task, false)).toMatchObject({ kind: 'closed', action: 'left' });
    expect(await sweep(task)).toMatchObject({ kind: 'closed', action: 'restored' });
    stage.host.release(order);
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    const attempt = await stage.settled(fresh, order.attemptId);
    expect(attempt).toMatchObject({ attemptId: order.attemptId, outcome: 'completed', number: 1 });
    const { activities } = await stage.record(fresh);
    expect(activities.map(({ summary }) => summary)).toContain('before the end');
    expect(stage.host.orders.filter(({ task: { taskId } }) => taskId === idOf(task))).toHaveLength(1);
    expect(await sweep(task)).toBeUndefined();
  });

  it('comes back by a dispatch too, which is refused because the run lives, and touches no other task (OR14)', async () => {
    const other = await claimed({ runId: randomUUID() });
    const { task, order } = await terminated();
    const answer = await dispatchTask(stage.session, { taskId: idOf(task) });
    expect(answer).toMatchObject({ success: false, code: 'TASK_NOT_DISPATCHABLE', retryable: true });
    expect((await stage.record(other)).status).toBe('in_progress');
    stage.host.release(order);
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    expect(await stage.settled(fresh, order.attemptId)).toMatchObject({ number: 1, outcome: 'completed' });
  });

  it('judges a run that died while its chain was gone, and starts nothing', async () => {
    const { task, order } = await terminated();
    stage.host.run = (given) => goodReport(given, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    stage.host.release(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    expect(await sweep(task)).toMatchObject({ action: 'restored' });
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    await stage.settled(fresh, order.attemptId);
    expect((await stage.record(fresh)).status).toBe('in_progress');
    expect(stage.host.orders.filter(({ task: { taskId } }) => taskId === idOf(task))).toHaveLength(1);
  });

  it('brings a chain back in which a result was being recorded and a reopening waited, and does both once', async () => {
    const task = await stage.create({ acceptance: ['make test'] });
    stage.host.run = (order) => goodReport(order);
    const { criteria } = stage.host;
    let goOn = (): void => undefined;
    const checked = new Promise<void>((resolve) => (goOn = resolve));
    stage.host.criteria = async (order) => {
      await checked;
      return criteria(order);
    };
    const { attemptId } = await stage.dispatch(task, { completion: 'criteria' });
    await until(async () => (await stage.lastAttempt(task)).receipts.length === 1);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'done by hand' }] });
    await task.executeUpdate(reopenUpdate, { args: [{}] });
    await task.terminate('by mistake');
    await stage.listed(task, "ExecutionStatus = 'Terminated'");
    stage.host.criteria = criteria;
    goOn();
    await findOrphans(stage.session, { apply: true, taskId: idOf(task) });
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    expect((await stage.settled(fresh, attemptId)).receipts).toHaveLength(1);
    await until(async () => (await stage.record(fresh)).status === 'in_progress');
    expect(await fresh.query(whyQuery)).toMatchObject({ attention: 'outcome' });
  });

  it('are swept twice at once with one effect', async () => {
    const task = await claimed({ runId: randomUUID() });
    const { task: other, order } = await terminated();
    await Promise.all([sweep(task), sweep(task), sweep(other)]);
    stage.host.release(order);
    const failures = (await stage.record(task)).activities.filter(({ detail }) => detail.code === 'no_executor');
    expect(failures).toHaveLength(1);
    const fresh = stage.client.workflow.getHandle(other.workflowId);
    expect(await stage.settled(fresh, order.attemptId)).toMatchObject({ number: 1 });
    const checks = `WorkflowId = '${orphanWorkflowId({ tenantId: 'default', taskId: idOf(task) })}'`;
    await until(
      async () => (await stage.client.workflow.count(`${checks} AND ExecutionStatus = 'Running'`)).count === 0,
    );
  });

  it('of another tenant are not seen (GN1)', async () => {
    const task = await stage.create({ tenantId: 'other' });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress', runId: randomUUID() }] });
    await stage.listed(task, "PerdureAttention = 'claimed'");
    expect(await sweep(task)).toBeUndefined();
  });
});
