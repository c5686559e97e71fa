import { actionsOf, type HistoryEvent, type RunHistory } from './history';

/** What workflows leave on the server, and what they cost on Temporal Cloud. */
export interface Cost {
  readonly events: number;
  readonly bytes: number;
  readonly actions: number;
}

export interface ChainCost extends Cost {
  /** By workflow type, in the order in which the phases ran. */
  readonly phases: ({ readonly type: string } & Cost)[];
  /** Billable actions by kind; heartbeats and queries are among them though they leave no event. */
  readonly kinds: Record<string, number>;
}

/** The first heartbeat of a followed run is sent at once; later ones come twice a minute. */
const BEATING = ['runProvider'];

/**
 * Activities that send one query each, to the one other task or queue that a path of the bench has; the one that
 * `findOrphans` sends about a claimed task is counted with the judgement that follows it.
 */
const ASKING = ['readRelations', 'enqueueTask', 'cancelChildren', 'restoreTask', 'convergeTask'];

/** Adds up the runs of a workflow id, oldest first, and the queries that a client sent to it. */
export function costOf(runs: readonly RunHistory[], queries: number): ChainCost {
  const events = runs.flatMap((run) => run.events);
  const silent = { heartbeat: scheduled(events, BEATING), query: queries + scheduled(events, ASKING) };
  const kinds: Record<string, number> = Object.fromEntries(Object.entries(silent).filter(([, count]) => count > 0));
  const phases = runs.map((run) => {
    const counts = actionsOf(run);
    for (const [kind, count] of Object.entries(counts)) kinds[kind] = (kinds[kind] ?? 0) + count;
    return { type: run.type, events: run.events.length, bytes: run.bytes, actions: sum(Object.values(counts)) };
  });
  return {
    events: events.length,
    bytes: sum(phases.map(({ bytes }) => bytes)),
    actions: sum(Object.values(kinds)),
    phases,
    kinds,
  };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

const scheduled = (events: readonly HistoryEvent[], types: readonly string[]): number =>
  events.filter(({ activityTaskScheduledEventAttributes: order }) => types.includes(order?.activityType?.name ?? ''))
    .length;
