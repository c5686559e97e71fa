import { failure, type Failure } from '../../contract/failures';
import { RUN_ACTOR, type Carried } from '../../contract/run';

/** Refuses a run that would be the judge of its own delivery: what it says is proven, and not taken (CK-14). */
export function refuseOwnProof({ delivery, task, version }: Carried, actor: string): Failure | null {
  if (version < 4 || delivery === null || !actor.startsWith(RUN_ACTOR)) return null;
  return failure('HUMAN_REQUIRED', `${actor} is a run of a supervised delivery`, {
    hint: 'End with a checkpoint: the acceptance criteria, or a review, decide.',
    taskId: task.id,
  });
}
