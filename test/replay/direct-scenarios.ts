import type { WorkflowHandle } from '@temporalio/client';
import { decideDirectUpdate, stopDirectUpdate } from '../../contract/direct';
import { workersUpgradedSignal } from '../../contract/run';
import { holdDirect, startDirect, statusIs } from '../helpers/direct';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import type { Stage } from '../helpers/stage';
import { scenario, type Scenario } from './scenario';

/** Waits for the end of the chain of runs, and gives its handle. */
async function ended(stage: Stage, { workflowId }: WorkflowHandle): Promise<WorkflowHandle> {
  const newest = stage.client.workflow.getHandle(workflowId);
  await newest.result();
  return newest;
}

const stop = (direct: WorkflowHandle) => direct.executeUpdate(stopDirectUpdate, { args: [{}] });

async function losing(stage: Stage): Promise<WorkflowHandle> {
  stage.host.run = (order) =>
    goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null, observation: null });
  const direct = await startDirect(stage);
  await statusIs(direct, 'recovery_required');
  return stage.client.workflow.getHandle(direct.workflowId);
}

/** Ways of a direct task. */
export const direct: readonly Scenario[] = [
  scenario('direct-completed', ['directTask'], async (stage) => ended(stage, await startDirect(stage))),
  scenario('direct-stopped-before', ['directTask'], async (stage) => {
    await stage.stopWorkers();
    const task = await startDirect(stage);
    const stopping = stop(task);
    await stage.startWorkers();
    await stopping;
    return ended(stage, task);
  }),
  scenario('direct-stopped-in-mid-run', ['directTask'], async (stage) => {
    const { direct: task } = await holdDirect(stage);
    await stop(task);
    await stop(task).catch(() => undefined); // it may have ended
    return ended(stage, task);
  }),
  scenario('direct-deadline', ['directTask'], async (stage) => {
    const deadlineAt = new Date(Date.now() + 1_500).toISOString();
    return ended(stage, (await holdDirect(stage, { deadlineAt })).direct);
  }),
  scenario('direct-deadline-not-reached', ['directTask'], async (stage) => {
    const deadlineAt = new Date(Date.now() + 3_600_000).toISOString();
    return ended(stage, await startDirect(stage, { deadlineAt }));
  }),
  scenario('direct-lost-and-abandoned', ['directTask'], async (stage) => {
    const task = await losing(stage);
    await task.executeUpdate(decideDirectUpdate, { args: [{ decision: 'abandon' }] });
    return ended(stage, task);
  }),
  scenario('direct-lost-and-stopped', ['directTask'], async (stage) => {
    const task = await losing(stage);
    await stop(task);
    return ended(stage, task);
  }),
  scenario('direct-rolled-over', ['directTask'], async (stage) => {
    const { direct: task, order } = await holdDirect(stage);
    const { runId } = await task.describe();
    await task.signal(workersUpgradedSignal);
    await until(async () => (await task.describe()).runId !== runId);
    stage.host.release(order);
    return ended(stage, task);
  }),
];
