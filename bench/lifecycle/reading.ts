import { listTasks, showTask } from '../../client/index';
import { round, summary, type Summary } from '../overhead/figures';
import type { Orchestrator } from './orchestrator';
import { valueOf, type Population } from './population';

const LISTS = 40;
const SHOWS = 60;
const WARM_UP = 5;
const LIMIT = 100;

/** Milliseconds of what people read, with so many tasks open. */
export interface Reading {
  readonly tasks: number;
  readonly list: Summary;
  /** `task list --status pending`, which all of them are. */
  readonly listPending: Summary;
  /** A filter that nothing matches. */
  readonly listFailed: Summary;
  /** A task that the worker has in its cache. */
  readonly showWarm: Summary;
  /** A task that it must replay; null when the cache holds all. */
  readonly showCold: Summary | null;
  /** The task that took all the updates: its last run must be replayed. Once, so it is not to be compared. */
  readonly showUpdated: number;
  /** Workflows that the worker loaded for each cold show, and for each warm one. */
  readonly loads: { readonly cold: number; readonly warm: number };
}

/** How long one piece of work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Lists and shows tasks, one call at a time. */
export async function measureReading(tasks: Population, orchestrator: Orchestrator, updated: string): Promise<Reading> {
  await tasks.listed();
  const showUpdated = round(await timed(() => show(tasks, updated)));
  const list = await listing(tasks);
  const listPending = await listing(tasks, 'pending');
  const listFailed = await listing(tasks, 'failed');
  const shows = await measureShows(tasks, orchestrator);
  return { tasks: tasks.size, list, listPending, listFailed, showUpdated, ...shows };
}

async function listing({ session }: Population, status?: string): Promise<Summary> {
  const filter = { limit: LIMIT, ...(status !== undefined && { status }) };
  const all: number[] = [];
  for (let i = 0; i < LISTS + WARM_UP; i += 1) {
    all.push(await timed(async () => valueOf(await listTasks(session, filter))));
  }
  return summary(all.slice(WARM_UP));
}

/** Shows tasks by chance that have left the cache, and each of them once more at once. */
async function measureShows(tasks: Population, orchestrator: Orchestrator) {
  const before = await orchestrator.idle();
  const isAllCached = tasks.size <= before.capacity;
  const ids = tasks.sample(SHOWS + WARM_UP, isAllCached ? 0 : before.capacity);
  const first: number[] = [];
  for (const id of ids) first.push(await timed(() => show(tasks, id)));
  const between = await orchestrator.idle();
  const again: number[] = [];
  for (const id of ids) again.push(await timed(() => show(tasks, id)));
  const after = await orchestrator.idle();
  return {
    showWarm: summary(again.slice(WARM_UP)),
    showCold: isAllCached ? null : summary(first.slice(WARM_UP)),
    loads: {
      cold: round((between.loaded - before.loaded) / ids.length),
      warm: round((after.loaded - between.loaded) / ids.length),
    },
  };
}

async function show({ session }: Population, taskId: string): Promise<void> {
  const { stale } = valueOf(await showTask(session, taskId));
  if (stale) throw new Error(`no worker answered for ${taskId}`);
}
