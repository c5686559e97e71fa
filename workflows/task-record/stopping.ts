import type { z } from 'zod';
import { failure } from '../../contract/failures';
import type { Carried, stopSchema } from '../../contract/run';
import { openIncident } from './decisions';
import { dropAwaiting } from './dispatching';
import { closeIncidents, currentAttempt } from './attempt';
import { transit, type Step } from './transitions';
import { isRunning } from './view';

type StopRequest = z.output<typeof stopSchema>;
interface StopAnswer {
  readonly success: true;
  readonly taskId: string;
  /** Whether processes are still to be ended. */
  readonly stopping: boolean;
}

/** Accepts a user's stop (US-2, US-6, US-10): it is durable with the answer, and a second one answers like the first. */
export function requestStop(carried: Carried, request: StopRequest, at: string): Step<StopAnswer> {
  const { task } = carried;
  const answer = (stopping: boolean): StopAnswer => ({ success: true, taskId: task.id, stopping });
  const reason = request.reason ?? 'stopped by a user';
  if (isRunning(carried)) {
    const stop = carried.stop ?? { at, actor: request.actor, reason };
    return { carried: { ...carried, stop }, answer: answer(true) };
  }
  if (carried.awaiting !== null) {
    const next = dropAwaiting(carried, { at, actor: request.actor }, reason);
    return { carried: next, answer: answer(false) };
  }
  const attempt = currentAttempt(carried);
  if (openIncident(carried) !== undefined && task.status === 'in_progress') {
    const incidents = closeIncidents(carried.incidents, { at, actor: request.actor, decision: 'stop' });
    const detail = { type: 'interrupted', reason: 'user_stop' };
    const stopped = transit(
      { ...carried, incidents },
      { to: 'interrupted', summary: reason, detail },
      { at, actor: request.actor },
    );
    return { carried: stopped, answer: answer(false) };
  }
  if (attempt?.outcome === 'stopped' && task.status === 'interrupted') return { carried, answer: answer(false) };
  const last = attempt?.endedAt ? ` The last run ended ${attempt.outcome ?? ''} at ${attempt.endedAt}.` : '';
  return failure('TASK_NOT_RUNNING', `task ${task.id} has no run to stop`, {
    hint: `The task is ${task.status}.${last}`,
    taskId: task.id,
  });
}
