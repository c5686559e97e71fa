import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { findOrphans, limitProject, pauseProject, resumeProject } from '../../client/index';
import { ORCHESTRATOR_QUEUE, projectWorkflowId, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { decideUpdate } from '../../contract/decision';
import {
  carriedQuery,
  dispatchUpdate,
  reopenSchema,
  reopenUpdate,
  stopUpdate,
  workersUpgradedSignal,
} from '../../contract/run';
import { setStatusUpdate, taskQuery, whyQuery, type Task } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { codeOf, type Stage } from '../helpers/stage';
import { scenario, type Scenario } from './scenario';

const idOf = ({ workflowId }: WorkflowHandle) => workflowId.split('/').at(-1) ?? '';
const statusIs = (task: WorkflowHandle, status: Task['status']) =>
  until(async () => (await task.query<Task>(taskQuery)).status === status);
const resting = (task: WorkflowHandle) => until(async () => (await task.describe()).type === 'task');
const listed = (stage: Stage, { workflowId }: WorkflowHandle, condition: string) =>
  until(async () => (await stage.client.workflow.count(`WorkflowId = '${workflowId}' AND ${condition}`)).count > 0);
const set = (task: WorkflowHandle, change: object) => task.executeUpdate(setStatusUpdate, { args: [change as never] });

/** Ways through queues, waits, reviews and sweeps. */
export const lifecycle: readonly Scenario[] = [
  scenario('run-by-a-project', ['project', 'task', 'dispatchTask'], async (stage) => {
    const projectId = `P-${randomUUID().slice(0, 8)}`;
    await limitProject(stage.session, projectId, 1);
    await pauseProject(stage.session, projectId);
    const task = await stage.create({ metadata: { projectId } });
    const other = await stage.create({ metadata: { projectId }, priority: 'high' });
    await stage.ask(task);
    await stage.ask(other);
    await resumeProject(stage.session, projectId);
    await statusIs(task, 'completed');
    await statusIs(other, 'completed');
    const gone = await stage.create({ metadata: { projectId }, ownerType: 'user', ownerId: 'ada' });
    await stage.ask(gone);
    const handle = stage.client.workflow.getHandle(projectWorkflowId({ tenantId: 'default', projectId }));
    await until(async () => (await handle.query<{ refused: unknown[] }>('project')).refused.length === 1);
    await handle.signal(workersUpgradedSignal);
    await until(async () => (await handle.describe()).historyLength < 10);
    await resting(task);
    return task;
  }),
  scenario('stop-unconfirmed', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const order = await stage.hold(task);
    stage.host.isStuck = true;
    await task.executeUpdate(stopUpdate, { args: [{}] });
    await until(async () => (await task.query(whyQuery)).attention === 'recovery');
    stage.host.isStuck = false;
    await stage.settled(task, order.attemptId);
    return task;
  }),
  scenario('recovered-after-its-end', ['project'], async (stage) => {
    const projectId = `P-${randomUUID().slice(0, 8)}`;
    await pauseProject(stage.session, projectId);
    const task = await stage.create({ metadata: { projectId } });
    await stage.ask(task);
    const handle = stage.client.workflow.getHandle(projectWorkflowId({ tenantId: 'default', projectId }));
    await handle.terminate('by mistake');
    await listed(stage, handle, "ExecutionStatus = 'Terminated'");
    await limitProject(stage.session, projectId, 2);
    await resumeProject(stage.session, projectId);
    await statusIs(task, 'completed');
    await resting(task);
    return task;
  }),
  scenario('starts-by-itself-after-a-dependency', ['task'], async (stage) => {
    const other = await stage.create();
    const task = await stage.create({ dependencies: [idOf(other)] });
    await task.executeUpdate(dispatchUpdate, {
      args: [{ agentId: 'general-purpose', whenReady: true, requestId: 'D' }],
    });
    await stage.settle(other, { completion: 'criteria' });
    await until(async () => (await task.query<unknown[]>('attempts')).length === 1);
    await resting(task);
    return task;
  }),
  scenario('tells-its-dependants', ['task'], async (stage) => {
    const task = await stage.create();
    const other = await stage.create({ dependencies: [idOf(task)] });
    await other.executeUpdate(dispatchUpdate, {
      args: [{ agentId: 'general-purpose', whenReady: true, requestId: 'D' }],
    });
    await set(task, { status: 'in_progress' });
    await set(task, { status: 'completed', result: 'done' });
    await until(async () => (await other.query<unknown[]>('attempts')).length === 1);
    return task;
  }),
  scenario('cancelled-with-its-children', ['task'], async (stage) => {
    const task = await stage.create();
    const child = await stage.create({ parentId: idOf(task) });
    await listed(stage, child, `PerdureParent = '${idOf(task)}'`);
    await set(task, { status: 'cancelled' });
    await statusIs(child, 'cancelled');
    return task;
  }),
  scenario('reviewed-twice', ['task'], async (stage) => {
    const task = await stage.create({ requireReview: true });
    await set(task, { status: 'in_progress' });
    await set(task, { status: 'completed', result: 'a draft' });
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'send_back', note: 'more' }] });
    await set(task, { status: 'in_progress' });
    await set(task, { status: 'completed', result: 'better' });
    await codeOf(task.executeUpdate(decideUpdate, { args: [{ decision: 'approve', reviewId: 'a-3' }] }));
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'approve' }] });
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'approve' }] });
    return task;
  }),
  scenario('claimed-by-a-run-that-died', ['task', 'failOrphan', 'sweepOrphans'], async (stage) => {
    const task = await stage.create();
    await set(task, { status: 'in_progress', runId: randomUUID(), threadId: randomUUID() });
    await listed(stage, task, "PerdureAttention = 'claimed'");
    await findOrphans(stage.session, { apply: false });
    await findOrphans(stage.session, { apply: true });
    await statusIs(task, 'failed');
    return task;
  }),
  scenario('claimed-without-a-run-and-dispatched', ['task'], async (stage) => {
    const task = await stage.create();
    await set(task, { status: 'in_progress' });
    await stage.settle(task);
    return task;
  }),
  scenario('terminated-and-restored', ['dispatchTask', 'sweepOrphans'], async (stage) => {
    const task = await stage.create();
    const order = await stage.hold(task);
    await task.terminate('by mistake');
    await listed(stage, task, "ExecutionStatus = 'Terminated'");
    await findOrphans(stage.session, { apply: true });
    stage.host.release(order);
    const fresh = stage.client.workflow.getHandle(task.workflowId);
    await stage.settled(fresh, order.attemptId);
    return fresh;
  }),
  scenario('reopened-while-being-reopened', ['reopenTask'], async (stage) => {
    const closed = await stage.create();
    await stage.settle(closed, { completion: 'criteria' });
    const carried = await closed.query(carriedQuery);
    const reopen = reopenSchema.parse({ actor: 'ada' });
    await stage.stopWorkers();
    const task = await stage.client.workflow.start(WORKFLOW.reopenTask, {
      workflowId: taskWorkflowId({ tenantId: 'default', taskId: `T-${randomUUID().slice(0, 8)}` }),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ carried: { ...carried, intent: { kind: 'reopen', reopen, then: null } } }],
    });
    const asked = Promise.all([
      set(task, { status: 'completed', result: 'once more' }),
      task.executeUpdate(reopenUpdate, { args: [{}] }),
    ]);
    await stage.startWorkers();
    await asked;
    const chain = stage.client.workflow.getHandle(task.workflowId);
    await resting(chain);
    return chain;
  }),
  scenario('reopened-and-run-on-its-thread', ['reopenTask', 'dispatchTask'], async (stage) => {
    const task = await stage.create();
    const { threadId } = await stage.settle(task, { completion: 'criteria' });
    await task.executeUpdate(reopenUpdate, { args: [{ dispatch: { agentId: 'general-purpose' }, requestId: 'R' }] });
    await until(async () => (await task.query<{ threadId: string }[]>('attempts')).length === 2);
    await until(async () => (await task.query<{ settledAt: unknown }[]>('attempts')).at(-1)?.settledAt !== null);
    await resting(task);
    if ((await stage.lastAttempt(task)).threadId !== threadId) throw new Error('it ran in another thread');
    return task;
  }),
  scenario('rolled-over-for-new-workers', ['task', 'dispatchTask'], async (stage) => {
    const task = await stage.create();
    await task.signal(workersUpgradedSignal);
    const order = await stage.hold(task);
    await task.signal(workersUpgradedSignal);
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
    return task;
  }),
  scenario('refused-for-a-busy-thread', ['task'], async (stage) => {
    const holder = await stage.create();
    const { threadId } = await stage.settle(holder);
    const order = await stage.hold(holder);
    const task = await stage.create({ context: { thread_id: threadId } });
    await set(task, { status: 'in_progress' });
    await set(task, { status: 'interrupted', summary: 'wait' });
    if ((await codeOf(stage.ask(task))) !== 'THREAD_BUSY') throw new Error('the thread was free');
    stage.host.release(order);
    await stage.settled(holder, order.attemptId);
    return task;
  }),
];
