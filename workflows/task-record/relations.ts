import { ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { TaskActivities } from '../../contract/activities';
import { failure } from '../../contract/failures';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { hasRelations, NO_RELATIONS, type Relations } from '../../contract/relation';
import type { TaskRecord } from './record';
import { refuse } from './refusal';

/** Reads of other tasks: light, and short, because a caller waits for the answer. */
const relationActivities = proxyActivities<TaskActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '30 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '5 seconds' },
});

/** The same for a task that starts by itself: nobody waits for the answer, and nobody would ask again. */
const patientActivities = proxyActivities<TaskActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** What the dependencies of a task have come to, however long it takes to find out. */
export function readRelationsAtLast({ carried }: TaskRecord): Promise<Relations> {
  const { tenantId, parentId = null, dependencies } = carried.task;
  return patientActivities.readRelations({ tenantId, parentId, dependencies });
}

/** What a dispatch has to know of the parent and the dependencies (PD6); refuses when they cannot be read. */
export async function readRelations({ carried }: TaskRecord): Promise<Relations> {
  const { task } = carried;
  if (!hasRelations(task)) return NO_RELATIONS;
  const { tenantId, parentId = null, dependencies } = task;
  try {
    return await relationActivities.readRelations({ tenantId, parentId, dependencies });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const said = error.cause?.message ?? error.message;
    return refuse(
      failure('TASK_DEPENDENCIES_INCOMPLETE', `what it depends on could not be read: ${said}`, { taskId: task.id }),
    );
  }
}

/** Refuses relations that cannot be: unknown tasks, circles, too deep (PD10, PD14). */
export async function checkRelations(
  { carried }: TaskRecord,
  change: { parentId?: string | undefined; dependencies?: string[] | undefined },
) {
  const { tenantId, id: taskId } = carried.task;
  const parentId = change.parentId ?? carried.task.parentId ?? null;
  const dependencies = change.dependencies ?? carried.task.dependencies;
  const refusal = await relationActivities.checkRelations({ task: { tenantId, taskId }, parentId, dependencies });
  if (refusal !== null) refuse(refusal);
}
