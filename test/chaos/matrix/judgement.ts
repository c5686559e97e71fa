import type { ProviderStart } from '../../helpers/counted-provider';

/** Milliseconds that a task has, from a kill or a dispatch on, to settle. */
export const BOUND_MS = 120_000;

/** What the record said when the task came to rest. */
export interface Rest {
  readonly status: string;
  readonly attention: string;
  readonly code: string | null;
  /** Milliseconds since the kill, or since the dispatch where nothing was killed. */
  readonly tookMs: number;
}

/** An attempt as the audit tells it. */
export interface ToldAttempt {
  readonly attemptId: string;
  readonly threadId: string | null;
  readonly spawns: number;
  readonly outcome: string | null;
}

/** All that was seen of one task, mostly from outside. */
export interface Seen {
  readonly starts: readonly ProviderStart[];
  readonly doubles: readonly { attemptId: string; what: string }[];
  /** Each time that the task came to rest; null when it did not within the bound. */
  readonly rests: readonly (Rest | null)[];
  /** Null when the audit did not answer within the bound. */
  readonly attempts: readonly ToldAttempt[] | null;
  readonly receipts: readonly { receiptId: string; attemptId: string }[];
  /** What the provider of each attempt printed itself. */
  readonly words: ReadonlyMap<string, { readonly threadId: string | null; readonly isFinished: boolean }>;
  /** Threads that a provider named and did not keep: nobody can go on in them. */
  readonly unkept: readonly string[];
  /** Marked processes that were left when all was over. */
  readonly left: number;
}

export interface Fault {
  readonly kind: 'second' | 'lost' | 'stuck';
  readonly text: string;
}

/** Judges what became of a task; the definitions are in docs/crash-matrix.md. */
export function judge(seen: Seen): Fault[] {
  return [
    ...secondSpawns(seen).map((text) => ({ kind: 'second' as const, text })),
    ...lost(seen).map((text) => ({ kind: 'lost' as const, text })),
    ...stuck(seen).map((text) => ({ kind: 'stuck' as const, text })),
  ];
}

function secondSpawns({ starts, doubles }: Seen): string[] {
  const ids = [...new Set(starts.map(({ attemptId }) => attemptId))];
  const startsOf = (id: string) => starts.filter(({ attemptId }) => attemptId === id).length;
  return [
    ...ids.filter((id) => startsOf(id) > 1).map((id) => `attempt ${id} was started ${startsOf(id)} times`),
    ...doubles.map(({ attemptId, what }) => `attempt ${attemptId} was started beside a living one of its ${what}`),
  ];
}

function stuck({ rests, left, attempts }: Seen): string[] {
  return [
    ...rests.flatMap((rest) => (rest === null ? ['it did not settle within the bound'] : [])),
    ...(attempts === null ? ['its audit did not answer within the bound'] : []),
    ...(left > 0 ? [`${left} marked processes were left`] : []),
  ];
}

function lost(seen: Seen): string[] {
  const { starts, attempts, rests, receipts, words } = seen;
  // A task that is stuck has no end yet that could be untrue.
  if (attempts === null || rests.includes(null)) return [];
  const end = rests.at(-1);
  const startsOf = (id: string) => starts.filter(({ attemptId }) => attemptId === id).length;
  const unknown = starts.filter(({ attemptId }) => attempts.every((attempt) => attempt.attemptId !== attemptId));
  return [
    ...(end?.status === 'completed' ? [] : [`it ended as ${String(end?.status)} although someone went on with it`]),
    ...unknown.map(({ attemptId }) => `the record knows nothing of attempt ${attemptId}`),
    ...attempts.flatMap((attempt) => untruths(attempt, startsOf(attempt.attemptId), words.get(attempt.attemptId))),
    ...threadProblems(attempts, seen),
    ...receiptProblems(attempts, receipts),
  ];
}

function untruths(
  { attemptId, outcome, spawns, threadId }: ToldAttempt,
  starts: number,
  words: { threadId: string | null; isFinished: boolean } | undefined,
): string[] {
  const said = words?.threadId ?? null;
  return [
    ...(outcome === null ? [`attempt ${attemptId} has no outcome`] : []),
    ...(outcome === 'completed' && words?.isFinished !== true
      ? [`attempt ${attemptId} is told as completed, and its provider did not say so`]
      : []),
    ...(spawns === 0 && starts > 0 ? [`attempt ${attemptId} is told as not started, and it was`] : []),
    ...(said !== null && threadId !== said ? [`attempt ${attemptId} is told to be of another thread`] : []),
  ];
}

/** Who goes on, goes on in the thread that there was; one that the provider did not keep was none. */
function threadProblems(attempts: readonly ToldAttempt[], { words, unkept }: Seen): string[] {
  const said = attempts.flatMap(({ attemptId }) => words.get(attemptId)?.threadId ?? []);
  const threads = new Set(said.filter((id) => !unkept.includes(id)));
  return threads.size > 1 ? [`it went on in another thread: ${[...threads].join(', ')}`] : [];
}

function receiptProblems(attempts: readonly ToldAttempt[], receipts: Seen['receipts']): string[] {
  const ids = receipts.map(({ receiptId }) => receiptId);
  const without = attempts.filter(
    ({ attemptId, outcome }) => outcome === 'completed' && receipts.every((receipt) => receipt.attemptId !== attemptId),
  );
  return [
    ...(new Set(ids).size < ids.length ? ['a receipt is in the record twice'] : []),
    ...without.map(({ attemptId }) => `the result of attempt ${attemptId} has no receipt`),
  ];
}
