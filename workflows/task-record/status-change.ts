import type { z } from 'zod';
import { failure, type Failure } from '../../contract/failures';
import type { Carried } from '../../contract/run';
import type { statusChangeSchema, Task, TaskAnswer, TaskStatus } from '../../contract/task';
import { answerOf, resultWarnings } from './commands';
import { isRefusal, isTerminal, mayBecome, refuseTransition, transit, type Step, type Transition } from './transitions';
import { refuseOwnProof } from './supervision';
import { isRunning } from './view';

type StatusChange = z.output<typeof statusChangeSchema>;

/** What a status change comes to: a transition, a refusal, or null when the task is there already. */
type Rule = (task: Task, change: StatusChange, isRunning: boolean) => Transition | Failure | null;

const incomplete = (task: Task, status: TaskStatus, what: string): Failure =>
  failure('INVALID_ARGUMENT', `${status} comes with ${what}`, { taskId: task.id });

const isBlank = (text: string | undefined): text is undefined => text === undefined || text.trim() === '';

const toPending: Rule = (task) => (task.status === 'pending' ? null : refuseTransition(task, 'pending'));

/** A person or a run claims the task without a dispatch; a run binds its own thread (TS4, TS19, TS23). */
const toInProgress: Rule = (task, { runId, threadId }, isRunning) => {
  const isSame = isRunning || (runId !== undefined && runId === task.context.run_id);
  if (task.status === 'in_progress' && isSame) return null;
  if (isTerminal(task.status)) {
    return { ...refuseTransition(task, 'in_progress'), hint: 'Dispatch it: that reopens and runs it.' };
  }
  if (task.status !== 'pending' && task.status !== 'interrupted') return refuseTransition(task, 'in_progress');
  const binding = {
    ...(threadId !== undefined && { thread_id: threadId }),
    ...(runId !== undefined && { run_id: runId }),
  };
  return {
    to: 'in_progress',
    summary: 'claimed without a dispatch',
    detail: { type: 'claim', ...(runId !== undefined && { runId }), ...(threadId !== undefined && { threadId }) },
    fields: { context: { ...task.context, ...binding } },
  };
};

/** Completion, exactly once (TS7, TS9); a task that requires review goes to review first (RV7). */
const toCompleted: Rule = (task, change) => {
  if (task.status !== 'in_progress') return refuseTransition(task, 'completed');
  if (isBlank(change.result)) return incomplete(task, 'completed', 'a result');
  const fields = { result: change.result };
  return task.requireReview
    ? { to: 'review', summary: 'waits for review', detail: { type: 'review' }, fields }
    : { to: 'completed', summary: 'completed', detail: { type: 'completed' }, fields };
};

const toFailed: Rule = (task, change) => {
  if (!mayBecome(task, 'failed')) return refuseTransition(task, 'failed');
  if (isBlank(change.failureReason)) return incomplete(task, 'failed', 'a failureReason');
  const fields = { failureReason: change.failureReason };
  return { to: 'failed', summary: 'failed', detail: { type: 'failed' }, fields };
};

const toInterrupted: Rule = (task, change) => {
  if (task.status !== 'in_progress') return refuseTransition(task, 'interrupted');
  if (isBlank(change.summary)) return incomplete(task, 'interrupted', 'a summary');
  const reason = change.reason ?? 'missing_input';
  return { to: 'interrupted', summary: change.summary, detail: { type: 'interrupted', reason } };
};

const toCancelled: Rule = (task, change) =>
  mayBecome(task, 'cancelled')
    ? { to: 'cancelled', summary: change.summary ?? 'cancelled', detail: { type: 'cancelled' } }
    : refuseTransition(task, 'cancelled');

const RULES: Record<TaskStatus, Rule> = {
  pending: toPending,
  in_progress: toInProgress,
  review: (task) => refuseTransition(task, 'review'),
  completed: toCompleted,
  failed: toFailed,
  interrupted: toInterrupted,
  cancelled: toCancelled,
};

/** Whether the new status ends the run: a cancelled task's, and any that waits to begin. */
function isEnded(carried: Carried, to: TaskStatus): boolean {
  if (to === 'cancelled') return isRunning(carried);
  const { intent, version } = carried;
  const isWaiting = intent?.kind === 'run' && !intent.isHandedOver && intent.notBefore !== null;
  return version > 3 && isWaiting && to !== 'in_progress';
}

/** Moves a task to another status on a caller's word (TS11); cancelling one that runs asks its run to stop (TS22). */
export function setStatus(carried: Carried, change: StatusChange, at: string): Step<TaskAnswer> {
  const { task } = carried;
  const { executionResultId, actor } = change;
  if (task.ownerType !== 'agent') {
    return failure('AGENT_TASK_REQUIRED', `task ${task.id} belongs to a ${task.ownerType}`, { taskId: task.id });
  }
  const byRun = change.status === 'completed' ? refuseOwnProof(carried, actor) : null;
  if (byRun !== null) return byRun;
  const rule = RULES[change.status](task, change, isRunning(carried));
  if (rule === null) return { carried, answer: answerOf(task) };
  if (isRefusal(rule)) return rule;
  const moved = transit(carried, { ...rule, executionResultId }, { at, actor });
  const stop = moved.stop ?? { at, actor, reason: rule.to };
  const next = isEnded(carried, rule.to) ? { ...moved, stop } : moved;
  const working = isRunning(next) && next.stop === null ? ['its run still works; `perdure stop` ends it'] : [];
  return { carried: next, answer: answerOf(next.task, [...resultWarnings(carried, executionResultId), ...working]) };
}
