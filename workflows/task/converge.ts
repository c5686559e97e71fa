import type { Verdict } from '../../contract/orphan';
import type { Carried } from '../../contract/run';
import { judgeOrphan } from '../fail-orphan';
import { suspectOf } from '../task-record/executor';
import { now, type TaskRecord } from '../task-record/record';
import { failOrphaned } from '../task-record/settling';

/** Whether a resting task says that something executes it: nothing of this chain does. */
export const isOrphan = ({ task, intent }: Carried): boolean =>
  task.status === 'in_progress' && task.ownerType === 'agent' && intent === null;

/**
 * Judges the executor of a resting task that says `in_progress`, and fails the task on proof (OR2); anything else
 * leaves it as it is. A task that changed meanwhile is left alone as well (OR16).
 */
export async function converge(
  record: TaskRecord,
  actor: string,
): Promise<Verdict & { failed: boolean; isSame: boolean }> {
  const { intent, task: judged } = record.carried;
  const verdict = await judgeOrphan(suspectOf(record.carried));
  const { task } = record.carried;
  const isSame =
    intent === record.carried.intent && task.status === 'in_progress' && task.statusSince === judged.statusSince;
  const failed = isSame && verdict.liveness === 'dead';
  if (failed) record.commit((carried) => failOrphaned(carried, verdict.evidence, { at: now(), actor }));
  return { ...verdict, failed, isSame };
}
