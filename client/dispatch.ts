import type { Outcome } from '../contract/failures';
import { DEFAULT_AGENT } from '../contract/agent';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { dispatchUpdate, type DispatchAnswer } from '../contract/run';
import { dispatchOrder, type RunSettings } from './create-task';
import { outcomeOf, refuse, valueOf } from './outcome';
import { findCodex } from './provider-check';
import { describeTask, queryTask } from './record';
import { sendUpdate } from './send-update';
import type { Session } from './session';

export interface DispatchRequest extends RunSettings {
  readonly taskId: string;
  /** Defaults to general-purpose. */
  readonly agentId?: string;
}

/** Asks for a run of a task; answers when it is accepted. A run on this host is refused when Codex is not to be found. */
export async function dispatchTask(session: Session, request: DispatchRequest): Promise<Outcome<DispatchAnswer>> {
  const { taskId, agentId = DEFAULT_AGENT, ...settings } = request;
  return outcomeOf(async () => {
    const order = dispatchOrder(session, agentId, settings);
    const { typedSearchAttributes } = await describeTask(session, taskId);
    if (typedSearchAttributes.get(SEARCH_ATTRIBUTE.host) === session.home.hostId) findCodex(session.env);
    return sendUpdate(session, taskId, { definition: dispatchUpdate, request: order });
  }, taskId);
}

/** Reopens a completed or cancelled task and runs it at once; any other status is refused. */
export async function redispatchTask(session: Session, taskId: string): Promise<Outcome<DispatchAnswer>> {
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
