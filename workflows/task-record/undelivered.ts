import type { Attempt, Carried } from '../../contract/run';
import type { ActivityEntry } from '../../contract/task';

type Delivered = Pick<Carried, 'task' | 'attempts' | 'version'>;

/** Whether notes went to an attempt: it really began, and is no review, which is given none (by earlier rules it was). */
const hasNotes = ({ startedAt, purpose }: Attempt, version: Carried['version']): boolean =>
  startedAt !== null && (purpose !== 'review' || version < 4);

/** The last attempt that notes went to. */
export const lastDelivered = ({ attempts, version }: Delivered): Attempt | undefined =>
  attempts.findLast((attempt) => hasNotes(attempt, version));

/** Notes that no run has been given yet: the ones since the last run that really began (RV8). */
export function undeliveredNotes({ task, attempts, version }: Delivered): ActivityEntry[] {
  const given = attempts.filter((attempt) => hasNotes(attempt, version));
  const begun = new Set(given.map(({ attemptId }) => attemptId));
  const last = task.activities.findLastIndex(({ detail }) => begun.has(String(detail.attemptId)) && isStart(detail));
  return task.activities.slice(last + 1).filter(({ detail }) => detail.type === 'note');
}

const isStart = ({ type }: ActivityEntry['detail']): boolean =>
  type === 'dispatch' || type === 'reopen' || type === 'continue';
