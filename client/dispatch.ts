import type { Outcome } from '../contract/failures';
import { DEFAULT_AGENT } from '../contract/agent';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { dispatchUpdate, type DispatchAnswer } from '../contract/run';
import { dispatchOrder, type RunSettings } from './create-task';
import { outcomeOf, refuse, valueOf } from './outcome';
import { missingPollers } from './pollers';
import { findCodex } from './provider-check';
import { describeTask, queryTask } from './record';
import { sendUpdate } from './send-update';
import type { Session } from './session';

export interface DispatchRequest extends RunSettings {
  readonly taskId: string;
  /** Defaults to general-purpose. */
  readonly agentId?: string;
}

/** What a dispatch answers, and what it has to say about a run that nobody may take up. */
export type DispatchedTask = DispatchAnswer & { readonly warnings?: string[] };

/** Asks for a run of a task; answers when it is accepted. A run on this host is refused when Codex is not to be found. */
export async function dispatchTask(session: Session, request: DispatchRequest): Promise<Outcome<DispatchedTask>> {
  const { taskId, agentId = DEFAULT_AGENT, ...settings } = request;
  return outcomeOf(async () => {
    const order = dispatchOrder(session, agentId, settings);
    const { typedSearchAttributes } = await describeTask(session, taskId);
    const hostId = typedSearchAttributes.get(SEARCH_ATTRIBUTE.host);
    if (hostId === session.home.hostId) findCodex(session.env);
    const answer = await sendUpdate(session, taskId, { definition: dispatchUpdate, request: order });
    const warnings = hostId === undefined ? [] : await missingPollers(session, hostId).catch(() => []);
    return { ...answer, ...(warnings.length > 0 && { warnings }) };
  }, taskId);
}

/** Reopens a completed or cancelled task and runs it at once; any other status is refused. */
export async function redispatchTask(session: Session, taskId: string): Promise<Outcome<DispatchedTask>> {
  return outcomeOf(async () => {
    const { status } = await queryTask(session, taskId);
    if (status !== 'completed' && status !== 'cancelled') {
      refuse('TASK_STATUS_CONFLICT', `a task that is ${status} cannot be reopened`, {
        hint: 'Only completed and cancelled tasks can be reopened; `perdure dispatch` takes up the others.',
      });
    }
    return valueOf(await dispatchTask(session, { taskId }));
  }, taskId);
}
