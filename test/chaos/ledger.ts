import { isDeepStrictEqual } from 'node:util';
import type { RunOrder } from '../../contract/activities';
import type { Attempt } from '../../contract/run';
import type { ActivityEntry, TaskStatus } from '../../contract/task';
import { EDGES } from '../workflows/task-record/rules';
import type { Shot } from './shot';

/** A whole task after the fire: what was moved to the store, and what its record still has. */
export interface Ledger {
  readonly status: TaskStatus;
  readonly entries: readonly ActivityEntry[];
  readonly attempts: readonly Attempt[];
  /** What the host was asked to run, as often as it was asked. */
  readonly orders: readonly RunOrder[];
  readonly shots: readonly Shot[];
}

/** Entries that a request of a kind may have made, and how many of them an accepted one has made. */
const EFFECTS: Record<string, { types: string[]; counts: number[] }> = {
  addActivity: { types: ['note'], counts: [1] },
  update: { types: ['update'], counts: [1] },
  dispatch: { types: ['dispatch', 'reopen'], counts: [1] },
  setStatus: { types: ['claim', 'completed', 'failed', 'interrupted', 'cancelled', 'review'], counts: [0, 1] },
  reopen: { types: ['reopen'], counts: [1] },
  decide: { types: ['decision', 'interrupted'], counts: [1] },
  stop: { types: ['interrupted'], counts: [0, 1] },
};

/** GN10, TR9: each accepted request is in the record exactly once with one answer, and no refused one is. */
export function brokenRequests({ shots, entries }: Ledger): string[] {
  const byActor = new Map<string, ActivityEntry[]>();
  for (const entry of entries) byActor.set(entry.actor, [...(byActor.get(entry.actor) ?? []), entry]);
  return shots.flatMap((shot) => {
    const { types, counts } = EFFECTS[shot.kind] ?? { types: [], counts: [] };
    const made = (byActor.get(shot.id) ?? []).filter(({ detail }) => types.includes(detail.type));
    const isRight = shot.isAccepted ? expected(shot, counts).includes(made.length) : made.length === 0;
    const answers = shot.replies.flatMap((reply) => ('answer' in reply ? [reply.answer] : []));
    const isOne = answers.every((answer) => isDeepStrictEqual(answer, answers[0]));
    const about = `${shot.kind} ${shot.id} ${JSON.stringify(shot.content)}`;
    return [
      ...(isRight ? [] : [`GN10: ${about}: ${JSON.stringify(shot.replies)} made ${JSON.stringify(made)}`]),
      ...(isOne ? [] : [`GN10: ${about} was answered ${JSON.stringify(answers)}`]),
    ];
  });
}

/** What answers a review leads to: the same answer given again makes no entry and says where the task is. */
const REVIEWED: Record<string, TaskStatus> = { approve: 'completed', send_back: 'interrupted' };

/** A status change makes an entry unless the task was there already, an answer to a review unless it was decided so. */
function expected({ kind, content, replies }: Shot, counts: number[]): number[] {
  const { status, decision } = content;
  if (kind === 'decide') {
    const isThere = replies.some((reply) => 'answer' in reply && statusIn(reply.answer) === REVIEWED[String(decision)]);
    return isThere ? [0, 1] : counts;
  }
  if (kind !== 'setStatus') return counts;
  return status === 'pending' ? [0] : status === 'in_progress' ? [0, 1] : [1];
}

const statusIn = (answer: unknown): unknown => (answer as { status?: unknown }).status;

/** TR9: every entry has a number of its own, without a gap. */
export const brokenNumbers = ({ entries }: Ledger): string[] =>
  entries.flatMap(({ id }, index) =>
    id === `a-${String(index + 1)}` ? [] : [`TR9: ${id} is entry ${String(index + 1)}`],
  );

/** TS7, TS8, TS9, TS13, RO9: statuses follow each other along the table, and complete once between reopenings. */
export function brokenPath({ entries, status }: Ledger): string[] {
  const broken: string[] = [];
  let current = 'pending';
  let completions = 0;
  for (const { id, detail } of entries) {
    if (typeof detail.to !== 'string') continue;
    if (detail.from !== current) broken.push(`TS14: ${id} goes on from ${String(detail.from)}, not ${current}`);
    if (!EDGES.includes(`${String(detail.from)}>${detail.to}`)) broken.push(`TS13: ${id} ${JSON.stringify(detail)}`);
    if (detail.type === 'reopen') completions = 0;
    if (detail.to === 'completed' && (completions += 1) > 1) broken.push(`TS9: ${id} completes again`);
    current = detail.to;
  }
  return current === status ? broken : [...broken, `TS14: the record says ${status}, its entries ${current}`];
}

/** DS10, DS12, SR1: one attempt for each accepted dispatch, numbered without a gap, each with a result of its own. */
export function brokenAttempts({ attempts, shots }: Ledger): string[] {
  const answered = shots.flatMap(({ kind, replies }) =>
    kind === 'dispatch' ? replies.flatMap((reply) => ('answer' in reply ? [reply.answer] : [])).slice(0, 1) : [],
  ) as { attemptId: string }[];
  const ids = attempts.map(({ attemptId }) => attemptId);
  const asked = answered.map(({ attemptId }) => attemptId);
  const numbers = attempts.flatMap(({ number }, index) =>
    number === index + 1 ? [] : [`SR1: attempt ${String(number)}`],
  );
  const results = attempts.flatMap(({ attemptId, executionResultId, outcome }) =>
    outcome !== null && executionResultId === `result:${attemptId}` ? [] : [`SR1: ${attemptId} has no result`],
  );
  const isSame = isDeepStrictEqual(ids.toSorted(), asked.toSorted()) && new Set(ids).size === ids.length;
  return [...numbers, ...results, ...(isSame ? [] : [`DS12: attempts ${ids.join()} of dispatches ${asked.join()}`])];
}

/** DS10, RN10: the host is asked for each attempt that ran and no other, always for the same, and one after the other. */
export function brokenOrders({ attempts, orders }: Ledger): string[] {
  const numbers = orders.map(({ attemptId }) => attempts.findIndex((attempt) => attempt.attemptId === attemptId));
  const order = numbers.flatMap((number, index) =>
    number >= 0 && number >= (numbers[index - 1] ?? 0) ? [] : [`DS10: order ${String(index)} is for ${String(number)}`],
  );
  const first = new Map<string, RunOrder>();
  const changed = orders.filter((each) => {
    const known = first.get(each.attemptId) ?? each;
    first.set(each.attemptId, known);
    return known.threadId !== each.threadId || known.mode !== each.mode;
  });
  const unseen = attempts.filter(({ attemptId, spawns }) => spawns > 0 !== first.has(attemptId));
  return [
    ...order,
    ...changed.map(({ attemptId }) => `RN10: attempt ${attemptId} was ordered for another thread`),
    ...unseen.map(
      ({ attemptId, outcome, code }) => `DS10: ${attemptId} ${String(outcome)} ${String(code)} is not as ordered`,
    ),
  ];
}
