import type { Carried } from '../../contract/run';
import type { ActivityEntry } from '../../contract/task';

/** Notes that no run has been given yet: the ones since the last run that really began (RV8). */
export function undeliveredNotes({ task, attempts }: Pick<Carried, 'task' | 'attempts'>): ActivityEntry[] {
  const begun = new Set(attempts.filter(({ startedAt }) => startedAt !== null).map(({ attemptId }) => attemptId));
  const last = task.activities.findLastIndex(({ detail }) => begun.has(String(detail.attemptId)) && isStart(detail));
  return task.activities.slice(last + 1).filter(({ detail }) => detail.type === 'note');
}

const isStart = ({ type }: ActivityEntry['detail']): boolean =>
  type === 'dispatch' || type === 'reopen' || type === 'continue';
