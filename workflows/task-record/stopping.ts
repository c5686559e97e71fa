import type { z } from 'zod';
import { failure } from '../../contract/failures';
import type { Carried, stopSchema } from '../../contract/run';
import { openIncident } from './decisions';
import { dropAwaiting } from './dispatching';
import { currentAttempt } from './attempt';
import { closeIncidents } from './incidents';
import { interruptStopped, keptStop } from './settling';
import { transit, type Step } from './transitions';
import { isRunning, isSettling } from './view';

interface Stopping {
  readonly at: string;
  readonly actor: string;
  readonly reason: string;
  /** What the open incidents are closed with. */
  readonly decision: string;
}

function stopAtRest(carried: Carried, { at, actor, reason, decision }: Stopping): Carried {
  const incidents = closeIncidents(carried.incidents, { at, actor, decision });
  const detail = { type: 'interrupted', reason: 'user_stop' };
  return transit({ ...carried, incidents, stop: null }, { to: 'interrupted', summary: reason, detail }, { at, actor });
}

/** Records the stop of a lost executor whose host has confirmed that nothing of it runs. */
export function stopLost(carried: Carried, at: string): Carried {
  const { stop, task } = carried;
  if (stop === null || task.status !== 'in_progress') return { ...carried, stop: null };
  return stopAtRest(carried, { at, actor: stop.actor, reason: stop.reason, decision: 'ended' });
}

/** Makes a stop true that came in while the result was recorded; that of a lost executor waits for its host. */
export function stopSettled(carried: Carried, at: string): Carried {
  const attempt = currentAttempt(carried);
  if (carried.stop === null || attempt === undefined || keptStop(carried) !== null) return carried;
  const rested = { ...carried, stop: null };
  return carried.task.status === 'in_progress' ? interruptStopped(rested, attempt, at) : rested;
}

type StopRequest = z.output<typeof stopSchema>;
interface StopAnswer {
  readonly success: true;
  readonly taskId: string;
  /** Whether processes are still to be ended. */
  readonly stopping: boolean;
}

/**
 * Whether a stop without a run waits for something: for the result that is being recorded, or for the host of a lost
 * executor, which ends what may be left of it.
 */
function endsLater(carried: Carried): boolean {
  if (carried.version < 4 || carried.task.status !== 'in_progress') return false;
  return isSettling(currentAttempt(carried)) || openIncident(carried)?.code === 'interrupted_owner';
}

/** Accepts a user's stop (US-2, US-6, US-10): it is durable with the answer, and a second one answers like the first. */
export function requestStop(carried: Carried, request: StopRequest, at: string): Step<StopAnswer> {
  const { task } = carried;
  const answer = (stopping: boolean): StopAnswer => ({ success: true, taskId: task.id, stopping });
  const reason = request.reason ?? 'stopped by a user';
  if (isRunning(carried) || endsLater(carried)) {
    const stop = carried.stop ?? { at, actor: request.actor, reason };
    return { carried: { ...carried, stop }, answer: answer(true) };
  }
  if (carried.awaiting !== null) {
    const next = dropAwaiting(carried, { at, actor: request.actor }, reason);
    return { carried: next, answer: answer(false) };
  }
  const attempt = currentAttempt(carried);
  if (openIncident(carried) !== undefined && task.status === 'in_progress') {
    return {
      carried: stopAtRest(carried, { at, actor: request.actor, reason, decision: 'stop' }),
      answer: answer(false),
    };
  }
  if (attempt?.outcome === 'stopped' && task.status === 'interrupted') return { carried, answer: answer(false) };
  const last = attempt?.endedAt ? ` The last run ended ${attempt.outcome ?? ''} at ${attempt.endedAt}.` : '';
  return failure('TASK_NOT_RUNNING', `task ${task.id} has no run to stop`, {
    hint: `The task is ${task.status}.${last}`,
    taskId: task.id,
  });
}
