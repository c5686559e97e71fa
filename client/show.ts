import type { Outcome } from '../contract/failures';
import type { Task } from '../contract/task';
import { outcomeOf } from './outcome';
import { readRecord } from './record';
import { workspacePathOf } from './run-files';
import type { Session } from './session';

export interface ShownTask {
  readonly task: Task;
  /** Directory of the work: the worktree of the last attempt that is known to have had one. */
  readonly workspacePath?: string;
  readonly stale?: true;
}

/** Shows a task's whole record; without a worker the last known one, marked `stale`. */
export async function showTask(session: Session, taskId: string): Promise<Outcome<ShownTask>> {
  return outcomeOf(async () => {
    const { task, attempts, stale } = await readRecord(session, taskId);
    const paths = await Promise.all(attempts.map((attempt) => workspacePathOf(session, attempt)));
    const workspacePath = paths.findLast((path) => path !== null) ?? null;
    return { task, ...(workspacePath !== null && { workspacePath }), ...(stale && { stale }) };
  }, taskId);
}
