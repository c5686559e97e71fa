import {
  ApplicationFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { TaskActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, type TaskKey } from '../../contract/names';
import { dependantAddedSignal, dependencyCompletedSignal, refuseDependencies } from '../../contract/relation';
import { dropAwaiting } from '../task-record/dispatching';
import type { PhaseRules } from '../task-record/handlers';
import { now, type TaskRecord } from '../task-record/record';
import { readRelationsAtLast } from '../task-record/relations';

/** Not waited for by any caller: tried until it works, or until the task leaves its rest and takes it along. */
const { cancelChildren } = proxyActivities<TaskActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

type Errand = () => Promise<void>;

/** What a task at rest owes to related tasks, or to itself; undefined when nothing. */
export function nextErrand(record: TaskRecord, rules: PhaseRules): Errand | undefined {
  const { task, dependants, owesCancel, awaiting, version } = record.carried;
  if (task.status === 'completed' && dependants.length > 0) return () => tellDependants(record);
  if (owesCancel && version > 1) return () => tellChildren(record);
  if (awaiting !== null && record.isReadinessDue) return () => startWhenReady(record, rules);
  return undefined;
}

/** Tells everyone who waits for it that this task has completed; one that is gone needs to hear nothing. */
async function tellDependants(record: TaskRecord): Promise<void> {
  const { task, dependants } = record.carried;
  await Promise.all(
    dependants.map((workflowId) =>
      getExternalWorkflowHandle(workflowId).signal(dependencyCompletedSignal, task.id).catch(ignore),
    ),
  );
  record.conclude((carried) => ({
    ...carried,
    dependants: carried.dependants.filter((other) => !dependants.includes(other)),
  }));
}

/** Cancels the children of a cancelled task (PD13). */
async function tellChildren(record: TaskRecord): Promise<void> {
  const { tenantId, id: taskId } = record.carried.task;
  const scope = new CancellationScope();
  void condition(() => record.carried.intent !== null).then(() => {
    scope.cancel();
  });
  try {
    await scope.run(() => cancelChildren({ task: { tenantId, taskId }, actor: 'perdure' }));
  } catch (error) {
    if (isCancellation(error)) return;
    throw error;
  }
  record.conclude((carried) => ({ ...carried, owesCancel: false }));
}

/**
 * Makes the dispatch that waits for the dependencies once all of them have completed. It asks each to tell it first and
 * looks then, so that a completion in between is not missed.
 */
async function startWhenReady(record: TaskRecord, rules: PhaseRules): Promise<void> {
  record.isReadinessDue = false;
  const { task } = record.carried;
  await Promise.all(record.unwatched().map((taskId) => watch({ tenantId: task.tenantId, taskId })));
  const relations = await readRelationsAtLast(record);
  const { awaiting } = record.carried;
  if (awaiting === null || refuseDependencies(task.id, relations) !== null) return;
  try {
    await rules.dispatch.accept({ ...awaiting, whenReady: false });
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    const why = `${error.type ?? 'refused'}: ${error.message}`;
    record.commit((carried) => dropAwaiting(carried, { at: now(), actor: 'perdure' }, why));
  }
}

async function watch(dependency: TaskKey): Promise<void> {
  const other = getExternalWorkflowHandle(taskWorkflowId(dependency));
  await other.signal(dependantAddedSignal, workflowInfo().workflowId).catch(ignore);
}

const ignore = (): void => undefined;
