import { isDeepStrictEqual } from 'node:util';
import type { Attempt, Carried } from '../../../contract/run';
import type { Task } from '../../../contract/task';
import { isMalformed, type Turn } from './play';
import { ACTOR } from './story';
import { hold } from './rules';

const usableThread = ({ context }: Task): string | null =>
  typeof context.thread_id === 'string' && /^[0-9a-f-]{36}$/.test(context.thread_id) ? context.thread_id : null;
const last = ({ attempts }: Carried): Attempt | undefined => attempts.at(-1);

const MODE: Record<string, string> = { pending: 'start', interrupted: 'resume', failed: 'retry' };
const CODE: Record<string, string[]> = {
  in_progress: ['TASK_NOT_DISPATCHABLE'],
  review: ['TASK_IN_REVIEW', 'TASK_NOT_DISPATCHABLE'],
};

/** DS1 to DS5, DS13, DS17 to DS20: the status decides what a dispatch does, and a refusal says why and writes nothing. */
export function dispatchesByStatus({ before, after, verdict, sent, answer }: Turn): void {
  if (sent?.request.kind !== 'dispatch' || verdict === 'repeated' || verdict === 'REQUEST_CONFLICT') return;
  const { status, ownerType } = before.task;
  const isTerminal = status === 'completed' || status === 'cancelled';
  if (verdict === 'done') {
    const { mode, attemptId } = answer as { mode: string; attemptId: string };
    hold('DS1', mode === (isTerminal ? 'reopen' : MODE[status]), { status, mode });
    hold('DS2', ownerType === 'agent' && (isTerminal ? after.intent?.kind === 'reopen' : last(after)?.mode === mode));
    hold('DS10', before.intent === null && JSON.stringify(after.intent).includes(attemptId));
    return;
  }
  hold('DS13', after === before);
  const refusal = answer as { code: string; error: string; hint: string; retryable: boolean; taskId: string };
  hold('DS4', refusal.taskId === before.task.id);
  if (CODE[status] !== undefined) hold('DS4, DS19', CODE[status].includes(verdict), { status, verdict });
  if (verdict === 'TASK_NOT_DISPATCHABLE') {
    const names = ['pending', 'interrupted', 'failed', 'completed', 'cancelled'];
    hold(
      'DS5',
      names.every((name) => refusal.error.includes(name)),
      refusal.error,
    );
    const words = [status, 'starts', 'resumes', 'retries', 'reopens', 'living executor'];
    hold(
      'DS5',
      words.every((word) => refusal.hint.includes(word)),
      refusal.hint,
    );
    hold('DS18', refusal.retryable === (status === 'in_progress'));
  }
  if (ownerType !== 'agent') hold('DS20', verdict === 'AGENT_TASK_REQUIRED', verdict);
  if (verdict === 'AGENT_NOT_FOUND') hold('DS17', !refusal.retryable);
}

/** RN1 to RN5, RN12: the thread, the owner and the run that a new attempt is bound to. */
export function bindsAttempts({ before, after, command, sent }: Turn): void {
  if (after.attempts.length === before.attempts.length) return;
  const attempt = last(after);
  if (attempt === undefined) throw new Error('TR9 does not hold: an attempt is gone');
  hold('RN1', attempt.threadId === usableThread(after.task), attempt.threadId);
  const goesOn = before.task.status === 'interrupted' || before.task.status === 'failed';
  if (goesOn) hold('RN1, RN3, RN4', attempt.threadId === usableThread(before.task), attempt.threadId);
  else hold('RN2', attempt.threadId === null, attempt.threadId);
  hold('RN5', after.task.ownerId === 'general-purpose', after.task.ownerId);
  hold('RN12', after.task.context.run_id === attempt.attemptId);
  hold('RN6', sent?.request.kind === 'dispatch' || command.kind === 'advance');
  hold('RN6', after.task.status === 'in_progress' && after.intent?.kind === 'run');
}

/** SR1, DS10: attempts are numbered without a gap, no id comes twice, and what one came to is never edited. */
export function numbersAttempts({ before, after }: Turn): void {
  const { attempts } = after;
  hold(
    'SR1',
    attempts.every(({ number }, index) => number === index + 1),
  );
  hold('SR1', new Set(attempts.map(({ attemptId }) => attemptId)).size === attempts.length);
  const results = attempts.flatMap(({ executionResultId }) => executionResultId ?? []);
  hold('SR1', new Set(results).size === results.length, results);
  const runId = after.task.context.run_id;
  hold('RN12', runId === last(after)?.attemptId, runId);
  hold(
    'RO7',
    before.attempts.every((attempt, index) => isTheSame(attempt, attempts[index])),
  );
}

const isTheSame = (was: Attempt, is: Attempt | undefined): boolean =>
  was.attemptId === is?.attemptId &&
  was.mode === is.mode &&
  (was.outcome === null || (was.outcome === is.outcome && was.executionResultId === is.executionResultId));

/** SR3, SR10, SR14, TS2, TS17: the end of a run is a result of its own, and moves only a task that is in progress. */
export function settlesRuns(turn: Turn): void {
  const { before, after, command, verdict } = turn;
  if (command.kind !== 'settle' || verdict !== 'done') return;
  const attempt = last(after);
  const { outcome } = command;
  hold('SR10', attempt?.outcome === outcome && attempt.executionResultId === `result:${attempt.attemptId}`);
  hold('DS10', before.intent?.kind === 'run' && after.intent === null);
  const isLost = outcome === 'interrupted_owner' && before.task.status === 'in_progress';
  hold('US-6', after.stop === (isLost ? before.stop : null));
  const [from, to] = [before.task.status, after.task.status];
  if (from !== 'in_progress') hold('SR14: what the worker settled stands', to === from, { from, to });
  else if (outcome === 'failed') hold('SR14', to === 'failed' && (after.task.failureReason ?? '').includes('it broke'));
  else if (outcome === 'stopped') hold('RV10', to === 'interrupted' && reasonOf(after) === 'user_stop');
  else hold('TS17', to === 'in_progress', to);
  const thread = attempt?.threadId ?? null;
  if (thread !== null) hold('RN10', usableThread(after.task) === thread);
}

const reasonOf = ({ task }: Carried): unknown => task.activities.at(-1)?.detail.reason;

/** TS19, TS21, TS22: what a status change is that has nothing to write, and a cancellation under a run. */
export function changesAsked({ before, after, sent, verdict }: Turn): void {
  if (sent?.request.kind !== 'setStatus' || verdict !== 'done') return;
  const { to } = sent.request;
  const { status } = before.task;
  if (to === 'in_progress' && status === to) hold('TS19', before.intent?.kind === 'run' && after.task === before.task);
  if (to === 'pending') hold('TS21', status === 'pending' && after.task === before.task, status);
  if (to === 'cancelled' && before.intent?.kind === 'run') hold('TS22', after.stop !== null);
  if (to === 'completed' && before.task.requireReview) hold('RV7', after.task.status === 'review');
  if (to === 'interrupted') hold('RV1, RV2', reasonOf(after) === 'missing_input');
}

/** OR2, OR14: the task of a dead executor fails for whoever dispatched it, with the token, and nothing else changes. */
export function convergesOrphans({ before, after, command, verdict }: Turn): void {
  if (command.kind !== 'orphan' || verdict !== 'done') return;
  const entry = after.task.activities.at(-1);
  hold('OR2', after.task.status === 'failed' && (after.task.failureReason ?? '').includes('no_executor'));
  hold('OR2', entry?.actor === ACTOR && entry.detail.to === 'failed', entry);
  hold('OR4', isDeepStrictEqual(after.task.context, before.task.context) && after.attempts === before.attempts);
}

/** GN10, TR9: a repeated request gives the first answer and writes nothing; other content under its id is refused. */
export function answersOnce({ before, after, verdict, sent, answer, first }: Turn): void {
  if (sent === null || first === undefined) return;
  hold('GN10: no second effect', after === before);
  if (isMalformed(sent)) {
    hold('GN9', verdict === 'INVALID_ARGUMENT', verdict);
    return;
  }
  const isSame = isDeepStrictEqual(sent.request, first.request);
  hold('GN10', verdict === (isSame ? 'repeated' : 'REQUEST_CONFLICT'), { verdict, isSame });
  if (isSame) hold('GN10', isDeepStrictEqual(answer, first.answer), { answer, first: first.answer });
}

/** TM3: what the next phase reads is what the last one had. */
export function losesNothing({ before, after, command }: Turn): void {
  if (command.kind === 'crash') hold('TM3', isDeepStrictEqual(after, before), diffOf(before, after));
}

const diffOf = (before: Carried, after: Carried) =>
  Object.entries(after)
    .filter(([key, value]) => !isDeepStrictEqual(value, before[key as keyof Carried]))
    .map(([key]) => key);
