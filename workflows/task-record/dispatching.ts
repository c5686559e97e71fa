import type { z } from 'zod';
import { findAgent } from '../../contract/agent';
import { failure, type Failure } from '../../contract/failures';
import type { Attempt, Carried, DispatchAnswer, dispatchSchema, reopenSchema, RunMode } from '../../contract/run';
import { refuseDependencies, type Relations } from '../../contract/relation';
import type { Task } from '../../contract/task';
import { asEarlier } from './window';
import { threadId } from '../../contract/text';
import { isTerminal, transit, type Step, type Stamp } from './transitions';

export type Dispatch = z.output<typeof dispatchSchema>;
type ReopenRequest = z.output<typeof reopenSchema>;

/** A dispatch with the id of the attempt that it would make. */
export interface Claim {
  readonly dispatch: Dispatch;
  readonly attemptId: string;
  readonly at: string;
  readonly relations: Relations;
}

/** The stored thread of a task, when there is a usable one (TR5): anything but a thread id would be a workflow id of no thread. */
export function boundThread(task: Task): string | null {
  const thread = task.context.thread_id;
  return typeof thread === 'string' && threadId.test(thread) ? thread : null;
}

/** Checks 4 to 7 of a dispatch, in the order of the specification; null means it may go on. */
export function refuseDispatch(task: Task, dispatch: Dispatch): Failure | null {
  const about = { taskId: task.id };
  if (isTerminal(task.status) && task.ownerType !== 'agent') {
    return failure('TASK_TERMINAL', `task ${task.id} is ${task.status} and not owned by an agent`, about);
  }
  if (task.status === 'review') return failure('TASK_IN_REVIEW', `task ${task.id} waits for a review`, about);
  if (task.status === 'in_progress') return notDispatchable(task);
  if (task.ownerType !== 'agent') {
    return failure('AGENT_TASK_REQUIRED', `task ${task.id} belongs to a ${task.ownerType}`, about);
  }
  if (findAgent(dispatch.agentId) === undefined) {
    return failure('AGENT_NOT_FOUND', `there is no agent ${dispatch.agentId}`, about);
  }
  return null;
}

/** DS4, DS5: what can be dispatched, what this one is, and what each would do. */
export function notDispatchable(task: Task): Failure {
  return failure(
    'TASK_NOT_DISPATCHABLE',
    'only tasks that are pending, interrupted, failed, completed or cancelled can be dispatched',
    {
      hint:
        `The task is ${task.status}. Dispatch starts a pending one, resumes an interrupted one, retries a failed one ` +
        'and reopens a terminal one; one that is in_progress already has a living executor.',
      retryable: task.status === 'in_progress',
      taskId: task.id,
    },
  );
}

const MODE: Partial<Record<Task['status'], RunMode>> = { interrupted: 'resume', failed: 'retry', pending: 'start' };

/** Accepts a dispatch: claims the task for a new attempt, or hands it to a reopening first (DS1, DS2). */
export function dispatchTask(carried: Carried, claim: Claim): Step<DispatchAnswer> {
  const { task } = carried;
  const { dispatch, attemptId, at, relations } = claim;
  const refusal = carried.intent === null ? refuseDispatch(task, dispatch) : notDispatchable(task);
  if (refusal !== null) return refusal;
  const waiting = refuseDependencies(task.id, relations);
  if (waiting !== null) return waiting;
  const answer = (mode: RunMode): DispatchAnswer => ({ success: true, taskId: task.id, attemptId, mode });
  if (isTerminal(task.status)) {
    const reopen: ReopenRequest = { actor: dispatch.actor, replaceThread: true };
    const intent = { kind: 'reopen' as const, reopen, then: { dispatch, attemptId, relations } };
    return { carried: { ...carried, intent }, answer: answer('reopen') };
  }
  const mode = MODE[task.status] ?? 'start';
  const claimed = transit(
    { ...carried, stop: null },
    { to: 'in_progress', summary: `dispatched to ${dispatch.agentId} (${mode})`, detail: detailOf(mode, claim) },
    { at, actor: dispatch.actor },
  );
  return { carried: beginAttempt(claimed, mode, claim), answer: answer(mode) };
}

const detailOf = (mode: RunMode, { dispatch, attemptId }: Claim) => ({
  type: 'dispatch',
  mode,
  attemptId,
  agentId: dispatch.agentId,
});

/** Binds a claimed task to a new attempt: owner, thread and run id (RN1 to RN5, RN12). */
function beginAttempt(carried: Carried, mode: RunMode, claim: Claim): Carried {
  const { dispatch, attemptId, relations } = claim;
  const keepsThread = mode === 'resume' || mode === 'retry';
  const threadId = keepsThread ? boundThread(carried.task) : null;
  const { thread_id: _, ...context } = carried.task.context;
  const task: Task = {
    ...carried.task,
    ownerId: dispatch.agentId,
    context: { ...context, run_id: attemptId, ...(threadId !== null && { thread_id: threadId }) },
  };
  const attempts = [...carried.attempts.map(asEarlier), newAttempt({ ...carried, task }, mode, claim)];
  // A decision to run again settles what was open about earlier attempts (RC-15).
  const incidents = carried.incidents.map((incident) => ({ ...incident, decidedAt: incident.decidedAt ?? claim.at }));
  return { ...carried, task, attempts, incidents, intent: { kind: 'run', attemptId, isHandedOver: false, relations } };
}

function newAttempt(carried: Carried, mode: RunMode, { dispatch, attemptId, at }: Claim): Attempt {
  const { task, attempts, archived } = carried;
  const threadId = boundThread(task);
  const earlier = attempts.findLast((attempt) => attempt.threadId === threadId);
  return {
    attemptId,
    number: archived.attempts + attempts.length + 1,
    mode,
    agentId: dispatch.agentId,
    provider: 'codex',
    hostId: task.workspace.hostId,
    actor: dispatch.actor,
    policy: dispatch.policy,
    limits: dispatch.limits,
    completion: dispatch.completion,
    threadId,
    codexHome: threadId === null ? null : (earlier?.codexHome ?? null),
    workspacePath: null,
    cliVersion: null,
    requestedAt: at,
    startedAt: null,
    endedAt: null,
    settledAt: null,
    outcome: null,
    code: null,
    error: null,
    exit: null,
    spawns: 0,
    strays: 0,
    observation: null,
    usage: null,
    threadUsage: null,
    executionResultId: null,
    criteria: [],
    receipts: [],
    warnings: [],
  };
}

/** Accepts a reopening (RO1): the next phase does it. */
export function acceptReopen(carried: Carried, reopen: ReopenRequest): Step<{ success: true; taskId: string }> {
  const { task } = carried;
  if (!isTerminal(task.status) || carried.intent !== null) {
    return failure('TASK_STATUS_CONFLICT', `a task that is ${task.status} cannot be reopened`, {
      hint: 'Only completed and cancelled tasks can be reopened; dispatch takes up the others.',
      taskId: task.id,
    });
  }
  if (task.ownerType !== 'agent') {
    return failure('AGENT_TASK_REQUIRED', `task ${task.id} belongs to a ${task.ownerType}`, { taskId: task.id });
  }
  return {
    carried: { ...carried, intent: { kind: 'reopen', reopen, then: null } },
    answer: { success: true, taskId: task.id },
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
  const reopened = transit(
    // A stop that came in between is for the run that follows, if one does.
    { ...carried, intent: null, stop: then === null ? null : carried.stop },
    {
      to: 'in_progress',
      summary: 'reopened',
      detail: { type: 'reopen', earlier: { status, result, failureReason, since: statusSince } },
      fields: {
        result: null,
        failureReason: null,
        context: { ...task.context, ...(thread !== null && { thread_id: thread }) },
      },
    },
    { at, actor: reopen.actor },
  );
  return then === null ? reopened : beginAttempt(reopened, 'reopen', { ...then, at });
}
