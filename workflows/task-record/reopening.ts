import { failure, type Failure } from '../../contract/failures';
import { refuseDependencies } from '../../contract/relation';
import type { Carried } from '../../contract/run';
import {
  beginAttempt,
  boundThread,
  isForQueue,
  refuseAgent,
  refuseDispatch,
  type Claim,
  type ReopenRequest,
} from './dispatching';
import { refuseDelivery } from './delivery';
import { isTerminal, transit, type Stamp, type Step } from './transitions';

/** Refuses a reopening of anything but a terminal task of an agent (RO1, RO11). */
export function refuseReopen(carried: Carried, { dispatch }: ReopenRequest): Failure | null {
  const { task, intent } = carried;
  if (!isTerminal(task.status) || intent !== null) {
    return failure('TASK_STATUS_CONFLICT', `a task that is ${task.status} cannot be reopened`, {
      hint: 'Only completed and cancelled tasks can be reopened; dispatch takes up the others.',
      taskId: task.id,
    });
  }
  if (task.ownerType !== 'agent') {
    return failure('AGENT_TASK_REQUIRED', `task ${task.id} belongs to a ${task.ownerType}`, { taskId: task.id });
  }
  // Reopening looks at no authority (RO10), the run that follows does.
  if (dispatch === undefined) return null;
  return isForQueue(carried, dispatch) ? refuseDispatch(carried, dispatch) : refuseAgent(task, dispatch);
}

/** Accepts a reopening: the next phase does it, and the one after that runs the task when a dispatch came with it. */
export function acceptReopen(
  carried: Carried,
  { dispatch: _, ...reopen }: ReopenRequest,
  then: Pick<Claim, 'dispatch' | 'attemptId' | 'relations'> | null = null,
): Step<{ success: true; taskId: string; attemptId?: string }> {
  const { id: taskId } = carried.task;
  const refusal = refuseReopen(carried, { ...reopen, dispatch: then?.dispatch });
  if (refusal !== null) return refusal;
  if (then !== null && carried.attempts.some(({ attemptId }) => attemptId === then.attemptId)) {
    return failure('REQUEST_CONFLICT', 'the request id has led to an attempt already', { taskId });
  }
  const waiting =
    then === null ? null : (refuseDependencies(taskId, then.relations) ?? refuseDelivery(carried, then.dispatch));
  if (waiting !== null) return waiting;
  return {
    carried: { ...carried, intent: { kind: 'reopen', reopen, then } },
    answer: { success: true, taskId, ...(then !== null && { attemptId: then.attemptId }) },
  };
}

/** Reopens (RO2 to RO7): earlier outcome kept in the activity, fields cleared, thread kept or replaced. */
export function reopenTask(carried: Carried, { at }: Pick<Stamp, 'at'>): Carried {
  const { task, intent } = carried;
  if (intent?.kind !== 'reopen') return carried;
  const { reopen, then } = intent;
  const { status, result, failureReason, statusSince } = task;
  const bound = boundThread(task);
  const thread = bound === null || reopen.replaceThread ? (reopen.threadId ?? bound) : bound;
  const open = transit(
    // A stop that came in between is for the run that follows, if one does.
    { ...carried, intent: null, stop: then === null ? null : carried.stop, delivery: reopened(carried.delivery) },
    {
      to: 'in_progress',
      summary: 'reopened',
      detail: {
        type: 'reopen',
        earlier: { status, result, failureReason, since: statusSince },
        ...(then !== null && { attemptId: then.attemptId }),
      },
      fields: {
        result: null,
        failureReason: null,
        context: { ...task.context, ...(thread !== null && { thread_id: thread }) },
      },
    },
    { at, actor: reopen.actor },
  );
  if (then === null) return open;
  const keepsThread = !reopen.replaceThread || reopen.threadId !== undefined;
  return beginAttempt(open, 'reopen', { ...then, at, keepsThread });
}

/** What was used up counts on after a reopening; what was reported was about the earlier outcome. */
const reopened = (delivery: Carried['delivery']): Carried['delivery'] =>
  delivery === null ? null : { ...delivery, checkpoint: null, findings: [], diagnostic: null };
