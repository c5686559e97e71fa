import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { startOf } from '../../client/direct';
import {
  directQuery,
  newDirectTaskSchema,
  stopDirectUpdate,
  type DirectAnswer,
  type DirectTask,
} from '../../contract/direct';
import { goodReport } from './fake-host';
import { WORKFLOW } from '../../contract/names';
import type { RunOrder, RunReport } from '../../contract/activities';
import { HOST, type Stage } from './stage';
import { until } from './until';

/** A new direct task of the test host. */
export const newDirect = (change: object = {}) =>
  newDirectTaskSchema.parse({
    id: `D-${randomUUID().slice(0, 8)}`,
    tenantId: 'default',
    hostId: HOST,
    instruction: 'Say hello, once.',
    repositoryPath: '/repository',
    permissionMode: 'workspace-write',
    actor: 'tester',
    createdAt: new Date().toISOString(),
    ...change,
  });

/** Starts a direct task on a stage, as the client does. */
export async function startDirect(stage: Stage, change: object = {}): Promise<WorkflowHandle> {
  const create = newDirect(change);
  return stage.client.workflow.start(WORKFLOW.directTask, startOf(create));
}

export const snapshotOf = (direct: WorkflowHandle): Promise<DirectTask> => direct.query(directQuery);

/** Starts a run that lasts until it is released or stopped, and waits until the host has it. */
export async function holdDirect(
  stage: Stage,
  change: object = {},
): Promise<{ direct: WorkflowHandle; order: RunOrder }> {
  stage.host.run = stage.host.hold;
  const direct = await startDirect(stage, change);
  return { direct, order: await orderOf(stage, direct) };
}

/** Waits until the host was asked for a direct task. */
export const orderOf = (stage: Stage, { workflowId }: WorkflowHandle): Promise<RunOrder> =>
  until(() => stage.host.orders.find(({ task }) => task.taskId === workflowId.split('/').at(-1)));

/** Waits until a direct task has a status. */
export const statusIs = (direct: WorkflowHandle, status: DirectTask['status']): Promise<DirectTask> =>
  until(async () => {
    const task = await snapshotOf(direct);
    return task.status === status && task;
  });

/** The snapshot that a direct task ended with. */
export const resultOf = (direct: WorkflowHandle): Promise<DirectTask> => direct.result() as Promise<DirectTask>;

export const stop = (direct: WorkflowHandle): Promise<DirectAnswer> =>
  direct.executeUpdate(stopDirectUpdate, { args: [{}] });

/** Lets the next runs end with such a report once they were stopped. */
export function endWhenStopped({ host }: Stage, report: Partial<RunReport>): void {
  host.run = async (order) => {
    await until(() => host.stopped.includes(order.attemptId));
    return goodReport(order, report);
  };
}

/** Lets the next runs lose their executor. */
export function loseExecutor({ host }: Stage): void {
  host.run = (order) =>
    goodReport(order, {
      outcome: 'interrupted_owner',
      code: 'interrupted_owner',
      error: 'the executor died without a result',
      exit: null,
      observation: null,
      warnings: ['runner 42 is dead'],
    });
}
