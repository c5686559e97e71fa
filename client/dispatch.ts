import type { Outcome } from '../contract/failures';
import { DEFAULT_AGENT } from '../contract/agent';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import {
  carriedQuery,
  dispatchUpdate,
  reopenSchema,
  reopenUpdate,
  type Attempt,
  type Policy,
  type StartedDispatch,
} from '../contract/run';
import { cleanTreeWarnings, dispatchOrder, type Accepted, type RunSettings } from './create-task';
import { aboutDelivery } from './held';
import { findOrphans } from './orphans';
import { outcomeOf, RefusedError, toFailure, valueOf } from './outcome';
import { missingPollers } from './pollers';
import { findCodex } from './provider-check';
import { askWorker, describeTask } from './record';
import { isClosed, sendUpdate } from './send-update';
import type { Task } from '../contract/task';
import { taskHandle, type Session } from './session';

export interface DispatchRequest extends RunSettings {
  readonly taskId: string;
  /** Defaults to general-purpose. */
  readonly agentId?: string;
}

/** Asks for a run of a task; answers when it is accepted. A run on this host is refused when Codex is not to be found. */
export async function dispatchTask(session: Session, request: DispatchRequest): Promise<Outcome<Accepted>> {
  const { taskId } = request;
  const dispatched = await outcomeOf(() => dispatch(session, request), taskId);
  return dispatched.success ? dispatched : aboutDelivery(session, taskId, dispatched);
}

async function dispatch(session: Session, request: DispatchRequest): Promise<Accepted> {
  const { taskId, agentId = DEFAULT_AGENT, ...settings } = request;
  // What is wrong with the request itself is said before anybody is asked.
  dispatchOrder(session, agentId, settings);
  // A look that fails is no refusal: the dispatch itself says what is wrong (DS9).
  const run = await describeTask(session, taskId).catch(() => undefined);
  const hostId = run?.typedSearchAttributes.get(SEARCH_ATTRIBUTE.host);
  if (hostId === session.home.hostId) findCodex(session.env);
  const hasThread = run?.typedSearchAttributes.get(SEARCH_ATTRIBUTE.thread) !== undefined;
  // A thread shall not go on under other terms because nobody could say which it had; without one nobody is asked.
  const seen = hasThread ? await lookAt(session, taskId) : undefined;
  const kept = settings.replaceThread === true ? {} : policyToKeep(seen, KEEPS_THREAD);
  const order = dispatchOrder(session, agentId, { ...settings, policy: { ...kept, ...settings.policy } });
  // A run that nobody may take up is worth a word, and no wait of its own.
  const [{ success: _, ...answer }, absent] = await Promise.all([
    sendDispatch(session, taskId, order),
    hostId === undefined ? [] : missingPollers(session, hostId).catch(() => []),
  ]);
  const warnings = [...absent, ...cleanTreeWarnings(seen?.task.acceptance, order.policy)];
  return { ...answer, ...(warnings.length > 0 && { warnings }) };
}

interface Seen {
  readonly task: Task;
  readonly attempts: Attempt[];
}

/** A task and its attempts as its worker has them. */
async function lookAt(session: Session, taskId: string): Promise<Seen> {
  const handle = await taskHandle(session, taskId);
  return askWorker(session, () => handle.query(carriedQuery));
}

/** Where a dispatch goes on in the thread that the task has. One that is in progress is failed first, on proof. */
const KEEPS_THREAD: readonly Task['status'][] = ['interrupted', 'failed', 'in_progress'];
/** Where a reopening does that is told to. */
const KEEPS_WHEN_REOPENED: readonly Task['status'][] = ['completed', 'cancelled'];

/** Sandbox and model that the thread of a task last had, where it is gone on with: the home's defaults are for fresh ones. */
function policyToKeep(seen: Seen | undefined, statuses: readonly Task['status'][]): Partial<Policy> {
  if (seen === undefined || !statuses.includes(seen.task.status)) return {};
  if (typeof seen.task.context['thread_id'] !== 'string') return {};
  return seen.attempts.findLast(({ purpose }) => purpose !== 'review')?.policy ?? {};
}

/** Sends a dispatch; a chain that somebody ended in mid-run is brought back first, and judges by itself what lives. */
async function sendDispatch(session: Session, taskId: string, request: ReturnType<typeof dispatchOrder>) {
  const send = () => sendUpdate(session, taskId, { definition: dispatchUpdate, request });
  try {
    return await send();
  } catch (error) {
    if (!isClosed(error)) throw error;
    const { orphans } = valueOf(await findOrphans(session, { apply: true, taskId }));
    if (!orphans.some(({ action }) => action === 'restored')) throw error;
    return await send().catch(restoredFirst);
  }
}

/** A refusal after a chain was brought back says so: the run that lives goes on. */
function restoredFirst(error: unknown): never {
  const known = toFailure(error);
  if (known?.code !== 'TASK_NOT_DISPATCHABLE') throw error;
  throw new RefusedError({
    ...known,
    error: 'its workflow had been ended from outside and was begun again, with the run that it had',
    hint: 'See what became of the run with `perdure why`.',
  });
}

export interface ReopenAndRun {
  readonly taskId: string;
  /** Goes on in the stored thread; without it the run gets a fresh one. */
  readonly keepThread: boolean;
}

/** Reopens a completed or cancelled task and runs it at once; any other status is refused. */
export async function redispatchTask(
  session: Session,
  { taskId, keepThread }: ReopenAndRun,
): Promise<Outcome<Omit<StartedDispatch, 'success'>>> {
  return outcomeOf(async () => {
    const policy = keepThread ? policyToKeep(await lookAt(session, taskId), KEEPS_WHEN_REOPENED) : {};
    const dispatch = dispatchOrder(session, DEFAULT_AGENT, { policy });
    const request = reopenSchema.parse({ actor: session.actor, replaceThread: !keepThread, dispatch });
    const answer = await sendUpdate(session, taskId, { definition: reopenUpdate, request });
    return { taskId, attemptId: answer.attemptId ?? '', mode: 'reopen' as const };
  }, taskId);
}
