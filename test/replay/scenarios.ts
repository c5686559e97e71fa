import type { WorkflowHandle } from '@temporalio/client';
import { decideUpdate } from '../../contract/decision';
import { reopenUpdate, stopUpdate } from '../../contract/run';
import { addActivityUpdate, setStatusUpdate, updateUpdate } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, type Stage } from '../helpers/stage';
import { deliveries } from './delivery-scenarios';
import { direct } from './direct-scenarios';
import { lifecycle } from './lifecycle-scenarios';
import { receipts } from './receipt-scenarios';
import { scenario, type Scenario } from './scenario';

export type { Scenario } from './scenario';

const interrupted = (stage: Stage) => {
  stage.host.run = (order) =>
    goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null, observation: null });
};
const failing = (stage: Stage) => {
  stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
};
const good = (stage: Stage) => {
  stage.host.run = (order) => goodReport(order);
};

async function failedOnce(stage: Stage): Promise<WorkflowHandle> {
  const task = await stage.create();
  failing(stage);
  await stage.settle(task);
  good(stage);
  return task;
}

export const scenarios: readonly Scenario[] = [
  scenario('dispatched-and-settled', ['task', 'dispatchTask'], async (stage) => {
    const task = await stage.create({ description: 'Say hello', metadata: { projectId: 'P1' } });
    await stage.settle(task, { managedBy: 'P1' });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'hello' }] });
    return task;
  }),
  scenario('changed-at-rest', ['task'], async (stage) => {
    const task = await stage.create();
    await task.executeUpdate(updateUpdate, { args: [{ title: 'Say good-bye', requestId: 'u1' }] });
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'a note', requestId: 'n1' }] });
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'a note', requestId: 'n1' }] });
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    return task;
  }),
  scenario('criteria-met', ['dispatchTask'], async (stage) => {
    const task = await stage.create({ acceptance: ['true'] });
    await stage.settle(task, { completion: 'criteria' });
    return task;
  }),
  scenario('run-failed', ['dispatchTask'], failedOnce),
  scenario('retried-on-its-thread', ['dispatchTask', 'resumeCodex'], async (stage) => {
    const task = await failedOnce(stage);
    await stage.settle(task);
    return task;
  }),
  scenario('stopped-in-mid-run', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    await task.executeUpdate(stopUpdate, { args: [{}] });
    await stage.settled(task, attemptId);
    return task;
  }),
  scenario('cancelled-by-an-operator', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    await task.cancel();
    await stage.settled(task, attemptId);
    return task;
  }),
  scenario('cancelled-task-stops-its-run', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    await stage.settled(task, attemptId);
    return task;
  }),
  scenario('rolled-over-in-mid-run', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const order = await stage.hold(task);
    for (let serial = 0; serial < 410; serial += 1) {
      await task.executeUpdate(updateUpdate, { args: [{ title: String(serial) }] });
    }
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
    return task;
  }),
  scenario('completed-in-mid-run', ['dispatchTask'], async (stage) => {
    const task = await stage.create();
    const order = await stage.hold(task);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'by the worker' }] });
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
    return task;
  }),
  scenario('executor-died-and-dispatched-again', ['task', 'dispatchTask', 'failOrphan'], async (stage) => {
    const task = await stage.create();
    interrupted(stage);
    await stage.settle(task);
    good(stage);
    await stage.settle(task);
    return task;
  }),
  scenario('executor-alive', ['task', 'failOrphan'], async (stage) => {
    const task = await stage.create();
    interrupted(stage);
    await stage.settle(task);
    stage.host.probe = () => Promise.resolve({ liveness: 'alive', evidence: ['process 17 of it lives'] });
    await codeOf(stage.dispatch(task));
    return task;
  }),
  scenario('cancelled-at-rest-and-dispatched', ['task'], async (stage) => {
    const task = await stage.create();
    await stage.settle(task);
    await task.cancel();
    await stage.settle(task);
    return task;
  }),
  scenario('waits-for-a-dependency', ['task', 'dispatchTask'], async (stage) => {
    const parent = await stage.create({ title: 'The whole', description: 'The contract.' });
    const other = await stage.create();
    const idOf = ({ workflowId }: WorkflowHandle) => workflowId.split('/').at(-1) ?? '';
    const task = await stage.create({ dependencies: [idOf(other)], parentId: idOf(parent) });
    await codeOf(stage.dispatch(task));
    await stage.settle(other, { completion: 'criteria' });
    await task.executeUpdate(updateUpdate, { args: [{ dependencies: [idOf(other)] }] });
    await stage.settle(task);
    return task;
  }),
  scenario('executor-died-and-decided', ['task'], async (stage) => {
    const task = await stage.create();
    interrupted(stage);
    await stage.settle(task);
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'abandon' }] });
    return task;
  }),
  scenario('reopened-by-dispatch', ['task', 'reopenTask', 'dispatchTask'], async (stage) => {
    const task = await stage.create();
    await stage.settle(task, { completion: 'criteria' });
    await stage.settle(task);
    return task;
  }),
  scenario('reopened-to-rest', ['reopenTask', 'task'], async (stage) => {
    const task = await stage.create();
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'cancelled' }] });
    await task.executeUpdate(reopenUpdate, { args: [{}] });
    await until(async () => (await stage.record(task)).status === 'in_progress');
    return task;
  }),
  ...lifecycle,
  ...direct,
  ...deliveries,
  ...receipts,
];
