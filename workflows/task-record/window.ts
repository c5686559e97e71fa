import type { ArchivedEntry } from '../../contract/activities';
import type { Attempt, Carried } from '../../contract/run';
import type { Task } from '../../contract/task';
import { lastDelivered, undeliveredNotes } from './undelivered';
import { bounded, utf8Length } from '../../contract/text';

/** What a record keeps of its past; it lets twice as much gather before it moves the rest to the store. */
const KEPT_ACTIVITIES = 200;
const KEPT_ACTIVITY_BYTES = 128 * 1024;
const KEPT_ATTEMPTS = 20;
/** Notes that wait for the next run and stay beyond that, within as many bytes again. */
const KEPT_NOTES = 1_000;
/** Tools of an earlier attempt that stay in the record. */
const KEPT_TOOLS = 5;
/** Characters of an earlier attempt's observation that stay in the record; its own phase has the whole. */
const EXCERPT = 500;

/** The parts of a record that should move to the store, and the record without them. */
export interface Overflow {
  readonly entries: ArchivedEntry[];
  /** Drops what was moved from the state as it is by then. */
  drop(carried: Carried): Carried;
}

/** What a record should hand to the store, or null while it is small: a record must stay far below a payload's limit. */
export function overflowOf(carried: Carried): Overflow | null {
  const activities = movableOf(carried);
  const { attempts } = carried;
  const isSmall =
    activities.length <= 2 * KEPT_ACTIVITIES &&
    attempts.length <= 2 * KEPT_ATTEMPTS &&
    lengthOf(activities) <= 2 * KEPT_ACTIVITY_BYTES;
  if (isSmall) return null;
  const oldActivities = activities.slice(0, activities.length - lastWithin(activities, KEPT_ACTIVITIES).length);
  const needed = neededOf(carried);
  const oldAttempts = attempts.slice(0, -KEPT_ATTEMPTS).filter(({ attemptId }) => !needed.has(attemptId));
  const moved = new Set([...oldActivities.map(({ id }) => id), ...oldAttempts.map(({ attemptId }) => attemptId)]);
  return {
    entries: [
      ...oldActivities.map((body) => ({ kind: 'activity' as const, id: body.id, body })),
      ...oldAttempts.map((body) => ({ kind: 'attempt' as const, id: body.attemptId, body })),
    ],
    drop: (carried) => ({
      ...carried,
      task: { ...carried.task, activities: carried.task.activities.filter(({ id }) => !moved.has(id)) },
      attempts: carried.attempts.filter(({ attemptId }) => !moved.has(attemptId)),
      archived: {
        activities: carried.archived.activities + oldActivities.length,
        attempts: carried.archived.attempts + oldAttempts.length,
      },
    }),
  };
}

/** Attempts that stay in their record whatever their place: what is said and counted next follows from them. */
function neededOf(carried: Carried): Set<string> {
  const thread = carried.task.context.thread_id;
  const counted = carried.attempts.findLast(({ threadId, threadUsage }) => threadUsage !== null && threadId === thread);
  return new Set([lastDelivered(carried), counted].flatMap((attempt) => attempt?.attemptId ?? []));
}

const lengthOf = (value: unknown): number => utf8Length(JSON.stringify(value));

/** Activities that may move: all but reopenings and notes that no run was given yet, as far as there is room for them. */
function movableOf(carried: Carried): Task['activities'] {
  const { activities } = carried.task;
  if (carried.version === 1) return activities;
  const reopenings = activities.filter(({ detail }) => detail.type === 'reopen').slice(-KEPT_ATTEMPTS);
  const kept = new Set([...reopenings, ...lastWithin(undeliveredNotes(carried), KEPT_NOTES)].map(({ id }) => id));
  return activities.filter(({ id }) => !kept.has(id));
}

/** The last entries that fit both bounds. */
function lastWithin(activities: Task['activities'], count: number): Task['activities'] {
  let room = KEPT_ACTIVITY_BYTES;
  const earliest = Math.max(0, activities.length - count);
  for (let index = activities.length - 1; index >= earliest; index -= 1) {
    room -= lengthOf(activities[index]);
    if (room < 0) return activities.slice(index + 1);
  }
  return activities.slice(earliest);
}

/** An attempt as it is kept once another one has begun. */
export function asEarlier(attempt: Attempt): Attempt {
  const { observation, criteria, warnings, tools } = attempt;
  return {
    ...attempt,
    observation: observation === null ? null : { ...observation, text: bounded(observation.text, EXCERPT) },
    criteria: criteria.map(({ command, met, exitCode }) => ({
      command: bounded(command, 80),
      met,
      exitCode,
      output: '',
    })),
    ...(tools !== undefined && { tools: { ...tools, last: tools.last.slice(-KEPT_TOOLS) } }),
    warnings: warnings.slice(0, 3).map((warning) => bounded(warning, 200)),
  };
}
