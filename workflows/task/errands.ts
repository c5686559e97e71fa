import {
  ActivityFailure,
  ApplicationFailure,
  getExternalWorkflowHandle,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { TaskActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, type TaskKey } from '../../contract/names';
import { dependantAddedSignal, dependencyCompletedSignal, refuseDependencies } from '../../contract/relation';
import { bounded } from '../../contract/text';
import { dropAwaiting } from '../task-record/dispatching';
import type { PhaseRules } from '../task-record/handlers';
import { now, type TaskRecord } from '../task-record/record';
import { readRelationsAtLast } from '../task-record/relations';
import { append } from '../task-record/transitions';

/** Bounded, because a request that ends the rest of the task waits for it. */
const { cancelChildren } = proxyActivities<TaskActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  scheduleToCloseTimeout: '1 minute',
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '10 seconds' },
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

/** Cancels the children of a cancelled task (PD13); what keeps it from that is in the record, for a person to do. */
async function tellChildren(record: TaskRecord): Promise<void> {
  const { tenantId, id: taskId } = record.carried.task;
  const trouble = await cancelChildren({ task: { tenantId, taskId }, actor: 'perdure' }).then(() => null, troubleOf);
  record.conclude((carried) => ({ ...carried, owesCancel: false }));
  if (trouble === null) return;
  const entry = { at: now(), actor: 'perdure', summary: `its parts were not cancelled: ${trouble}` };
  record.commit((carried) => append(carried, { ...entry, detail: { type: 'children' } }));
}

function troubleOf(error: unknown): string {
  if (!(error instanceof ActivityFailure)) throw error;
  return bounded(error.cause?.message ?? error.message, 500);
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
