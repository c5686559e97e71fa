import { isDeepStrictEqual } from 'node:util';
import type { ActivityEntry, Task, TaskStatus } from '../../../contract/task';
import type { Turn } from './play';
import { ACTOR } from './story';

/** Throws when what a rule says does not hold. */
export function hold(rule: string, holds: boolean, told?: unknown): void {
  if (!holds) throw new Error(`${rule} does not hold${told === undefined ? '' : `: ${JSON.stringify(told)}`}`);
}

const added = ({ before, after }: Turn): ActivityEntry[] => after.task.activities.slice(before.task.activities.length);
const isTerminal = (status: TaskStatus) => status === 'completed' || status === 'cancelled';
const usableThread = ({ context }: Task): unknown =>
  typeof context.thread_id === 'string' && context.thread_id.length === 36 ? context.thread_id : null;

/** Which commands lead from one status to another (the table of section 3). */
const TABLE: Record<string, string[]> = {
  'pending>in_progress': ['dispatch', 'setStatus'],
  'interrupted>in_progress': ['dispatch', 'setStatus'],
  'failed>in_progress': ['dispatch'],
  'completed>in_progress': ['advance'],
  'cancelled>in_progress': ['advance'],
  'in_progress>completed': ['setStatus', 'judge', 'decide'],
  'in_progress>failed': ['setStatus', 'settle', 'judge', 'orphan', 'decide'],
  'in_progress>interrupted': ['setStatus', 'settle', 'judge', 'decide'],
  'in_progress>review': ['setStatus', 'judge'],
  'review>completed': ['decide'],
  'review>interrupted': ['decide'],
  'pending>cancelled': ['setStatus'],
  'interrupted>cancelled': ['setStatus'],
  'failed>cancelled': ['setStatus'],
  'in_progress>cancelled': ['setStatus'],
  'review>cancelled': ['setStatus'],
};

/** Every pair of statuses that the table knows. */
export const EDGES = Object.keys(TABLE);

/** TS7, TS8, TS13, TS20: a status only follows another one as the table says, and a refusal writes nothing. */
export function followsTheTable(turn: Turn): void {
  const { before, after, verdict, command, sent } = turn;
  const [from, to] = [before.task.status, after.task.status];
  const by = sent?.request.kind ?? command.kind;
  if (from !== to) hold('TS13', TABLE[`${from}>${to}`]?.includes(by) ?? false, { from, to, by });
  if (verdict !== 'done') hold('TS13: a refusal writes nothing', after === before);
  if (verdict !== 'TASK_STATUS_CONFLICT' || by !== 'setStatus') return;
  const { hint, retryable } = turn.answer as { hint: string; retryable: boolean };
  if (!isTerminal(from) || !hint.startsWith('Dispatch it')) hold('TS20', hint.includes(from), hint);
  else hold('TS23', sent?.request.kind === 'setStatus' && sent.request.to === 'in_progress', hint);
  hold('TS20', !retryable);
}

/** TS12, TS14, TS15, TR8, TR9: a change is one entry with all of its fields, and entries only gather. */
export function writesAtOnce(turn: Turn): void {
  const { before, after, command, sent } = turn;
  const entries = added(turn);
  const kept = after.task.activities.slice(0, before.task.activities.length);
  hold('TR9', kept.every((entry, index) => entry === before.task.activities[index]) || command.kind === 'crash');
  after.task.activities.forEach(({ id }, index) => {
    hold('TR9', id === `a-${String(index + 1)}`, id);
  });
  const [from, to] = [before.task.status, after.task.status];
  hold('TS15', entries.length <= 1 && (from === to || entries.length === 1), entries);
  for (const { detail, actor, summary, at } of entries) {
    hold('TS15', actor !== '' && summary !== '' && at === after.task.updatedAt, { actor, summary, at });
    hold('TS14', from === to ? detail.to === undefined : detail.from === from && detail.to === to, detail);
  }
  if (from !== to) hold('TS14', after.task.statusSince === after.task.updatedAt);
  const { result, failureReason } = after.task;
  if (from !== to && to === 'completed') hold('TS12', result !== null && result.trim() !== '', result);
  if (from !== to && to === 'failed') hold('TS12', failureReason !== null && failureReason.trim() !== '');
  if (sent?.request.kind === 'update' || sent?.request.kind === 'note' || sent?.request.kind === 'other') {
    hold('TR8', from === to && after.intent === before.intent && after.attempts === before.attempts);
  }
}

/** TS9, RO9: at most one completion in each stretch between two reopenings. */
export function completesOnce({ after: { task } }: Turn): void {
  let completions = 0;
  for (const { detail } of task.activities) {
    if (detail.type === 'reopen') completions = 0;
    if (detail.to === 'completed') completions += 1;
    hold('TS9', completions <= 1);
  }
}

const REOPENED = new Set(['status', 'statusSince', 'updatedAt', 'result', 'failureReason', 'context', 'activities']);
const rest = (task: Task, isRunBy: boolean) =>
  Object.entries(task).filter(([key]) => !REOPENED.has(key) && !(isRunBy && key === 'ownerId'));

/** RO1 to RO9, RO12: a reopening clears the outcome, keeps everything else, and treats the thread as it was asked. */
export function reopensWhole(turn: Turn): void {
  const { before, after, command, verdict, sent } = turn;
  if (sent?.request.kind === 'reopen' && verdict === 'done') {
    hold('RO1', isTerminal(before.task.status) && before.intent === null, before.task.status);
    hold('RO8', after.intent?.kind === 'reopen' && after.task === before.task);
  }
  if (command.kind !== 'advance' || verdict !== 'done' || before.intent?.kind !== 'reopen') return;
  const { reopen, then } = before.intent;
  const { status, result, failureReason } = before.task;
  hold('RO1', isTerminal(status), status);
  hold('RO2', after.task.status === 'in_progress' && after.task.result === null && after.task.failureReason === null);
  const [entry] = added(turn);
  hold('RO3', entry?.detail.type === 'reopen' && entry.actor === ACTOR, entry);
  hold('RO7', isDeepStrictEqual(rest(after.task, then !== null), rest(before.task, then !== null)));
  const earlier = entry?.detail.earlier as object;
  hold('RO7', isDeepStrictEqual({ ...earlier, since: '' }, { status, result, failureReason, since: '' }), earlier);
  if (then !== null) return;
  const stored = usableThread(before.task);
  const bound = usableThread(after.task);
  if (stored === null) hold('RO12', bound === (reopen.threadId ?? null), bound);
  else if (!reopen.replaceThread) hold('RO4', bound === stored, bound);
  else hold('RO5', bound === (reopen.threadId ?? stored), bound);
}
