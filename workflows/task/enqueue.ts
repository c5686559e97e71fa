import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { ProjectActivities } from '../../contract/activities';
import { failure } from '../../contract/failures';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { projectOf, type QueuedTask } from '../../contract/project';
import type { Carried, ManagedDispatch } from '../../contract/run';
import type { Dispatch } from '../task-record/dispatching';
import type { TaskRecord } from '../task-record/record';
import { refuse } from '../task-record/refusal';
import { currentAttempt } from '../task-record/attempt';

/** The start hook of a project (MA3): short, because a caller waits; the queue takes a task once however often it is told. */
const { enqueueTask } = proxyActivities<ProjectActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '30 seconds',
  // A full queue is an answer: the caller hears it at once.
  retry: {
    initialInterval: '200 milliseconds',
    maximumInterval: '5 seconds',
    nonRetryableErrorTypes: ['PROJECT_FULL'],
  },
});

/** Hands a managed task to its project's queue; nothing of the task changes (MA2). */
export async function enqueue(record: TaskRecord, dispatch: Dispatch): Promise<ManagedDispatch> {
  const { task, awaiting } = record.carried;
  const projectId = projectOf(task) ?? '';
  const { tenantId, id: taskId } = task;
  try {
    await enqueueTask({ task: { tenantId, taskId }, projectId, queued: queuedTask(record.carried, dispatch) });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return refuse(hookFailure(error, taskId));
  }
  // A dispatch that waited for its dependencies has been made; one that the queue set meanwhile has not.
  if (awaiting !== null && record.carried.awaiting === awaiting)
    record.commit((carried) => ({ ...carried, awaiting: null }));
  return { success: true, taskId, managed: true, projectId };
}

function queuedTask(carried: Carried, dispatch: Dispatch): QueuedTask {
  const { id: taskId, priority, createdAt } = carried.task;
  const { agentId, actor, policy, limits, replaceThread, supervise, onUsageLimit } = dispatch;
  const order = {
    agentId,
    actor,
    policy,
    limits,
    ...(replaceThread !== undefined && { replaceThread }),
    ...(supervise !== undefined && { supervise }),
    ...(onUsageLimit !== undefined && { onUsageLimit }),
  };
  return { taskId, priority, createdAt, lastAttemptId: currentAttempt(carried)?.attemptId ?? null, order };
}

/** A refusal of the queue keeps its code (MA4); any other trouble is the hook's (MA10). */
function hookFailure({ cause, message }: ActivityFailure, taskId: string) {
  const said = cause?.message ?? message;
  const isFull = cause instanceof ApplicationFailure && cause.type === 'PROJECT_FULL';
  return failure(isFull ? 'PROJECT_FULL' : 'MANAGED_START_FAILED', said, { taskId });
}
