import { randomUUID } from 'node:crypto';
import { newCarried } from '../../../contract/new-task';
import { NO_RELATIONS, type Relations } from '../../../contract/relation';
import { dispatchSchema, type Carried, type Dispatch } from '../../../contract/run';
import { statusChangeSchema, type StatusChange, type Task } from '../../../contract/task';
import { dispatchTask } from '../../../workflows/task-record/dispatching';
import { setStatus } from '../../../workflows/task-record/status-change';
import { isRefusal, type Step } from '../../../workflows/task-record/transitions';
import { newTask } from '../../helpers/stage';
import { at } from './story';

/** When all of it happens. */
export const AT = at(0);

export const THREAD = '0199aaaa-bbbb-7ccc-8ddd-000000000001';

/** A record as it may come to be, with the fields that matter to a test. */
export function carriedWith(change: Partial<Task> = {}): Carried {
  const carried = newCarried(newTask());
  return { ...carried, task: { ...carried.task, ...change } };
}

/** The effect of a command that must be accepted. */
export function taken<A>(step: Step<A>): { carried: Carried; answer: A } {
  if (isRefusal(step)) throw new Error(`${step.code}: ${step.error}`);
  return step;
}

export const set = (carried: Carried, change: StatusChange) =>
  setStatus(carried, statusChangeSchema.parse({ actor: 'tester', ...change }), AT);

export const dispatch = (carried: Carried, change: Partial<Dispatch> = {}, relations: Relations = NO_RELATIONS) =>
  dispatchTask(carried, {
    dispatch: dispatchSchema.parse({ agentId: 'general-purpose', actor: 'tester', ...change }),
    attemptId: randomUUID(),
    at: AT,
    relations,
  });
