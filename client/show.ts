import { z } from 'zod';
import type { Outcome } from '../contract/failures';
import type { Task } from '../contract/task';
import { outcomeOf } from './outcome';
import { readRecord } from './record';
import { workspacePathOf } from './run-files';
import type { Session } from './session';

/** An outcome that a reopening set aside (RO7). */
export interface EarlierOutcome {
  readonly status: string;
  readonly result: string | null;
  readonly failureReason: string | null;
  /** Since when the task had it. */
  readonly since: string;
  readonly reopenedAt: string;
  readonly reopenedBy: string;
}

export interface ShownTask {
  readonly task: Task;
  /** Outcomes of before, the oldest first; only when asked for. */
  readonly history?: EarlierOutcome[];
  /** Directory of the work: the worktree of the last attempt that is known to have had one. */
  readonly workspacePath?: string;
  readonly stale?: true;
}

/** Shows a task's whole record; without a worker the last known one, marked `stale`. */
export async function showTask(
  session: Session,
  taskId: string,
  { withHistory = false }: { withHistory?: boolean } = {},
): Promise<Outcome<ShownTask>> {
  return outcomeOf(async () => {
    const { task, attempts, stale } = await readRecord(session, taskId);
    const paths = await Promise.all(attempts.map((attempt) => workspacePathOf(session, attempt)));
    const workspacePath = paths.findLast((path) => path !== null) ?? null;
    return {
      task,
      ...(withHistory && { history: historyOf(task) }),
      ...(workspacePath !== null && { workspacePath }),
      ...(stale && { stale }),
    };
  }, taskId);
}

const earlierSchema = z.object({
  status: z.string(),
  result: z.string().nullable(),
  failureReason: z.string().nullable(),
  since: z.string(),
});

function historyOf({ activities }: Task): EarlierOutcome[] {
  return activities.flatMap(({ at, actor, detail }) => {
    const earlier = detail.type === 'reopen' ? earlierSchema.safeParse(detail.earlier) : undefined;
    return earlier?.success === true ? [{ ...earlier.data, reopenedAt: at, reopenedBy: actor }] : [];
  });
}
