import type { Outcome } from '../contract/failures';
import type { Task } from '../contract/task';
import { outcomeOf } from './outcome';
import { readRecord } from './record';
import type { Session } from './session';

export interface ShownTask {
  readonly task: Task;
  readonly stale?: true;
}

/** Shows a task's whole record; without a worker the last known one, marked `stale`. */
export async function showTask(session: Session, taskId: string): Promise<Outcome<ShownTask>> {
  return outcomeOf(async () => {
    const { task, stale } = await readRecord(session, taskId);
    return { task, ...(stale && { stale }) };
  }, taskId);
}
