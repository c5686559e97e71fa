import type { z } from 'zod';
import { findAgent } from '../../contract/agent';
import { failure, type Failure } from '../../contract/failures';
import { projectOf } from '../../contract/project';
import type {
  Attempt,
  Carried,
  dispatchSchema,
  reopenSchema,
  RunMode,
  StartedDispatch,
  WaitingDispatch,
} from '../../contract/run';
import { refuseDependencies, type Relations } from '../../contract/relation';
import type { Task } from '../../contract/task';
import { closeIncidents, resumeIncidents } from './incidents';
import { enrol, refuseDelivery } from './delivery';
import { asEarlier } from './window';
import { bounded, threadId } from '../../contract/text';
import { append, isTerminal, transit, type Step, type Stamp } from './transitions';

export type Dispatch = z.output<typeof dispatchSchema>;
export type ReopenRequest = z.output<typeof reopenSchema>;

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

/** The project whose queue executes the task (MA1), or null. */
export const managerOf = ({ task, version }: Owned): string | null => (version === 1 ? null : projectOf(task));

type Owned = Pick<Carried, 'task' | 'version'>;

/** Whether a dispatch is one for the queue of the task's project: anybody's but the queue's own (MA2). */
export function isForQueue(carried: Owned, { managedBy }: Dispatch): boolean {
  const projectId = managerOf(carried);
  return projectId !== null && managedBy !== projectId;
}

/** Checks 4 to 7 of a dispatch, in the order of the specification; null means it may go on. */
export function refuseDispatch(carried: Owned, dispatch: Dispatch): Failure | null {
  const { task } = carried;
  const about = { taskId: task.id };
  const projectId = managerOf(carried);
  if (dispatch.managedBy !== undefined && dispatch.managedBy !== projectId && carried.version > 1) {
    return failure('TASK_STATUS_CONFLICT', `task ${task.id} has left project ${dispatch.managedBy}`, about);
  }
  if (isTerminal(task.status) && projectId !== null) {
    return failure('TASK_TERMINAL', `task ${task.id} is ${task.status} and managed by project ${projectId}`, {
      hint: 'Create a new task in the project, or reopen this one with `perdure task reopen`.',
      ...about,
    });
  }
  if (isTerminal(task.status) && task.ownerType !== 'agent') {
    return failure('TASK_TERMINAL', `task ${task.id} is ${task.status} and not owned by an agent`, about);
  }
  if (task.status === 'review') return failure('TASK_IN_REVIEW', `task ${task.id} waits for a review`, about);
  if (task.status === 'in_progress') return notDispatchable(task);
  if (isForQueue(carried, dispatch)) return null;
  if (task.ownerType !== 'agent') {
    return failure('AGENT_TASK_REQUIRED', `task ${task.id} belongs to a ${task.ownerType}`, about);
  }
  return refuseAgent(task, dispatch);
}

export const refuseAgent = ({ id: taskId }: Task, { agentId }: Dispatch): Failure | null =>
  findAgent(agentId) === undefined ? failure('AGENT_NOT_FOUND', `there is no agent ${agentId}`, { taskId }) : null;

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

/** The thread that a dispatch would go on in: an interrupted or failed task keeps its own (RN1). */
export function threadToKeep(task: Task, { replaceThread = false }: Dispatch): string | null {
  const goesOn = task.status === 'interrupted' || task.status === 'failed';
  return goesOn && !replaceThread ? boundThread(task) : null;
}

const MODE: Partial<Record<Task['status'], RunMode>> = { interrupted: 'resume', failed: 'retry', pending: 'start' };

/** Dependencies that an answer names; the record has them all. */
const NAMED = 20;

/** Accepts a dispatch that is made when the last dependency completes; until then nothing else of the task changes. */
export function awaitDependencies(
  carried: Carried,
  dispatch: Dispatch,
  { relations, at }: Pick<Claim, 'relations' | 'at'>,
): Step<WaitingDispatch> {
  const { task, intent } = carried;
  const refusal = intent === null ? refuseDispatch(carried, dispatch) : notDispatchable(task);
  if (refusal !== null) return refusal;
  const open = relations.dependencies.flatMap(({ id, status }) => (status === 'completed' ? [] : [id]));
  const waitsFor = open.slice(0, NAMED);
  const { managedBy: _, ...awaiting } = dispatch;
  const entry = {
    at,
    actor: dispatch.actor,
    summary: bounded(`starts after ${open.join(', ')}`, 1_000),
    detail: { type: 'await' },
  };
  return { carried: append({ ...carried, awaiting }, entry), answer: { success: true, taskId: task.id, waitsFor } };
}

/** Gives up a dispatch that waited, and says why. */
export function dropAwaiting(carried: Carried, { at, actor }: Stamp, why: string): Carried {
  const summary = bounded(`did not start: ${why}`, 1_000);
  return append({ ...carried, awaiting: null }, { at, actor, summary, detail: { type: 'await' } });
}

/** Accepts a dispatch: claims the task for a new attempt, or hands it to a reopening first (DS1, DS2). */
export function dispatchTask(carried: Carried, claim: Claim): Step<StartedDispatch> {
  const { task } = carried;
  const { dispatch, attemptId, at, relations } = claim;
  const refusal = carried.intent === null ? refuseDispatch(carried, dispatch) : notDispatchable(task);
  if (refusal !== null) return refusal;
  if (carried.version > 1 && carried.attempts.some((attempt) => attempt.attemptId === attemptId)) {
    return failure('REQUEST_CONFLICT', 'the request id has led to an attempt already', { taskId: task.id });
  }
  const waiting = refuseDependencies(task.id, relations) ?? refuseDelivery(carried, dispatch);
  if (waiting !== null) return waiting;
  const answer = (mode: RunMode): StartedDispatch => ({ success: true, taskId: task.id, attemptId, mode });
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
  const keepsThread = threadToKeep(task, dispatch) !== null;
  return { carried: beginAttempt(claimed, mode, { ...claim, keepsThread }), answer: answer(mode) };
}

/** A dispatch like the one that led to the last attempt of the work. */
export function dispatchAgain(
  { attempts }: Carried,
  { actor, requestId }: { actor: string; requestId?: string | undefined },
): Dispatch {
  const last = attempts.findLast(({ purpose }) => purpose !== 'review') ?? attempts.at(-1);
  if (last === undefined) throw new Error('a task that was never run has nothing to go on with');
  const { agentId, policy, limits, completion, onUsageLimit } = last;
  return { actor, requestId, agentId, policy, limits, completion, onUsageLimit };
}

const detailOf = (mode: RunMode, { dispatch, attemptId }: Claim) => ({
  type: 'dispatch',
  mode,
  attemptId,
  agentId: dispatch.agentId,
});

/** Binds a claimed task to a new attempt: owner, thread and run id (RN1 to RN5, RN12). */
export function beginAttempt(carried: Carried, mode: RunMode, claim: Claim & { keepsThread: boolean }): Carried {
  const { dispatch, attemptId, relations, keepsThread } = claim;
  const threadId = keepsThread ? boundThread(carried.task) : null;
  const { thread_id: _, ...context } = carried.task.context;
  const task: Task = {
    ...carried.task,
    ownerId: dispatch.agentId,
    context: { ...context, run_id: attemptId, ...(threadId !== null && { thread_id: threadId }) },
  };
  const delivery = enrol(carried, dispatch);
  const attempts = [...carried.attempts.map(asEarlier), newAttempt({ ...carried, task, delivery }, mode, claim)];
  // A decision to run again settles what was open about earlier attempts (RC-15).
  const { at } = claim;
  const decided = closeIncidents(carried.incidents, { at, actor: dispatch.actor, decision: 'dispatch' });
  const incidents = resumeIncidents(decided, { attemptId, at });
  return {
    ...carried,
    task,
    attempts,
    delivery,
    incidents,
    intent: { kind: 'run', attemptId, isHandedOver: false, notBefore: null, relations },
  };
}

/** An attempt that is about to begin, on the thread that the task is bound to. */
export function newAttempt(carried: Carried, mode: RunMode, { dispatch, attemptId, at }: Claim): Attempt {
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
    // A delivery has to be proven: its outcome is the engine's to record.
    completion: carried.delivery === null ? dispatch.completion : 'criteria',
    ...(dispatch.managedBy !== undefined && { managedBy: dispatch.managedBy }),
    ...(dispatch.onUsageLimit !== undefined && { onUsageLimit: dispatch.onUsageLimit }),
    ...(carried.delivery !== null && { purpose: 'work' as const }),
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
