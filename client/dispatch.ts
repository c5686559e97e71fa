import type { Outcome } from '../contract/failures';
import { DEFAULT_AGENT } from '../contract/agent';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { dispatchUpdate, reopenSchema, reopenUpdate, type StartedDispatch } from '../contract/run';
import { dispatchOrder, type Accepted, type RunSettings } from './create-task';
import { findOrphans } from './orphans';
import { outcomeOf, RefusedError, toFailure, valueOf } from './outcome';
import { missingPollers } from './pollers';
import { findCodex } from './provider-check';
import { describeTask } from './record';
import { isClosed, sendUpdate } from './send-update';
import type { Session } from './session';

export interface DispatchRequest extends RunSettings {
  readonly taskId: string;
  /** Defaults to general-purpose. */
  readonly agentId?: string;
}

/** Asks for a run of a task; answers when it is accepted. A run on this host is refused when Codex is not to be found. */
export async function dispatchTask(session: Session, request: DispatchRequest): Promise<Outcome<Accepted>> {
  const { taskId, agentId = DEFAULT_AGENT, ...settings } = request;
  return outcomeOf(async () => {
    const order = dispatchOrder(session, agentId, settings);
    // A look that fails is no refusal: the dispatch itself says what is wrong (DS9).
    const hostId = await describeTask(session, taskId).then(
      ({ typedSearchAttributes }) => typedSearchAttributes.get(SEARCH_ATTRIBUTE.host),
      () => undefined,
    );
    if (hostId === session.home.hostId) findCodex(session.env);
    // A run that nobody may take up is worth a word, and no wait of its own.
    const [{ success: _, ...answer }, warnings] = await Promise.all([
      sendDispatch(session, taskId, order),
      hostId === undefined ? [] : missingPollers(session, hostId).catch(() => []),
    ]);
    return { ...answer, ...(warnings.length > 0 && { warnings }) };
  }, taskId);
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
    const dispatch = dispatchOrder(session, DEFAULT_AGENT, {});
    const request = reopenSchema.parse({ actor: session.actor, replaceThread: !keepThread, dispatch });
    const answer = await sendUpdate(session, taskId, { definition: reopenUpdate, request });
    return { taskId, attemptId: answer.attemptId ?? '', mode: 'reopen' as const };
  }, taskId);
}
