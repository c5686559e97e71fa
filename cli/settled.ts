import type { AttemptKey, Session, Settled } from '../client/index';
import type { Outcome } from '../contract/failures';
import { block } from './escape';
import { note, type Style } from './output';
import { onInterrupt } from './perform';
import { fields } from './table';

/** Waits for a settled result; for people with what happens meanwhile on stderr. */
export async function waitWithProgress(session: Session, key: AttemptKey, isJson: boolean): Promise<Outcome<Settled>> {
  const { waitSettled } = await import('../client/index.js');
  onInterrupt(`The task goes on. See it with: perdure watch ${key.taskId}; end it with: perdure stop ${key.taskId}`);
  const watching = new AbortController();
  const progress = isJson ? Promise.resolve() : showProgress(session, key.taskId, watching.signal);
  const settled = await waitSettled(session, key, note);
  watching.abort();
  await progress;
  return settled;
}

/** Shows on stderr what a task does; trouble of the watch is none of the wait's. */
async function showProgress(session: Session, taskId: string, signal: AbortSignal): Promise<void> {
  const { watchTask } = await import('../client/index.js');
  let last = '';
  try {
    for await (const { sentence } of watchTask(session, taskId, { notify: () => undefined, signal })) {
      if (signal.aborted) return;
      if (sentence !== last) note(`${taskId}: ${sentence}`);
      last = sentence;
    }
  } catch {
    // The wait reports what is wrong, if anything is.
  }
}

/** A settled result for people: what the agent said, then where it stands. */
export function settledLines(result: Settled, style: Style): string[] {
  const { taskId, taskStatus, threadId, executionResultId, observation, workspacePath } = result;
  return [
    ...(observation === undefined ? [] : block(observation, '')),
    ...fields({
      task: taskId,
      status: taskStatus,
      thread: threadId,
      result: executionResultId,
      work: workspacePath,
    }).map(style.dim),
  ];
}

/** What a person is told after a settled run: where the work of a failed one is, what an open task waits for. */
export function settledNotes(outcome: Outcome<object>): string[] {
  if (!outcome.success) return 'workspacePath' in outcome ? [`work  ${String(outcome.workspacePath)}`] : [];
  if (!('taskStatus' in outcome && 'taskId' in outcome) || outcome.taskStatus !== 'in_progress') return [];
  const id = String(outcome.taskId);
  return [`next: perdure task complete ${id} --result ... , or perdure task fail ${id} --reason ...`];
}
