import type { AttemptKey, Session, Settled } from '../client/index';
import type { Outcome } from '../contract/failures';
import { continueWith, isResting, shellWord } from '../contract/shell';
import { block } from './escape';
import { note, type Style } from './output';
import { onInterrupt } from './perform';
import { fields } from './table';

/** Waits for an accepted run; its answer keeps the warnings that came with the acceptance. */
export async function waitForRun(
  session: Session,
  { taskId, attemptId, warnings: early = [] }: AttemptKey & { warnings?: string[] },
  isJson: boolean,
): Promise<Outcome<Settled>> {
  // A person learns at once that the run works on something else; a program finds all in the result.
  if (!isJson) for (const warning of early) note(`warning: ${warning}`);
  const settled = await waitWithProgress(session, { taskId, attemptId }, isJson);
  const warnings = [...(isJson ? early : []), ...(settled.warnings ?? [])];
  return { ...settled, ...(warnings.length > 0 && { warnings }) };
}

/** Waits for a settled result; for people with what happens meanwhile on stderr. */
async function waitWithProgress(session: Session, key: AttemptKey, isJson: boolean): Promise<Outcome<Settled>> {
  const { waitSettled } = await import('../client/index.js');
  const id = shellWord(key.taskId);
  onInterrupt(`The task goes on. See it with: perdure watch ${id}; end it with: perdure stop ${id}`);
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
  const work = !outcome.success && 'workspacePath' in outcome ? [`work  ${String(outcome.workspacePath)}`] : [];
  if (!('taskStatus' in outcome && 'taskId' in outcome)) return work;
  const next = nextOf(String(outcome.taskId), outcome.taskStatus, 'code' in outcome ? outcome.code : null);
  return next === null ? work : [...work, `next: ${next}`];
}

/** The command that moves a settled task on; null where its hint says it, or nothing is left to do. */
function nextOf(taskId: string, status: unknown, code: string | null): string | null {
  if (status === 'interrupted' && isResting(code)) return continueWith(taskId, code);
  if (code !== null) return null;
  const id = shellWord(taskId);
  if (status === 'review') return `perdure decide ${id} approve , or perdure decide ${id} send_back --note ...`;
  if (status !== 'in_progress') return null;
  return `perdure task complete ${id} --result ... , or perdure task fail ${id} --reason ...`;
}
