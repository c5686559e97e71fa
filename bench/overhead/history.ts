import type { WorkflowHandle } from '@temporalio/client';
import type { Tasks } from './tasks';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
export type HistoryEvent = NonNullable<History['events']>[number];

/** One run of a task's workflow id. */
export interface RunHistory {
  readonly type: string;
  readonly runId: string;
  readonly events: readonly HistoryEvent[];
  readonly bytes: number;
}

/** All runs of a task, newest first. */
export const historiesOf = (tasks: Pick<Tasks, 'handle'>, taskId: string): Promise<RunHistory[]> =>
  chainOf((runId) => tasks.handle(taskId, runId));

/** The runs of a workflow id up to its newest one, or up to `last`, newest first: each names the one it continues. */
export async function chainOf(open: (runId?: string) => Promise<WorkflowHandle>, last?: string): Promise<RunHistory[]> {
  const runs: RunHistory[] = [];
  for (let runId = last; ;) {
    const handle = await open(runId);
    const { raw, type, runId: found } = await handle.describe();
    const { events = [] } = await handle.fetchHistory();
    runs.push({
      type,
      runId: found,
      events: events ?? [],
      bytes: Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0),
    });
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
    if (runId === '') return runs;
  }
}

/**
 * Events that Temporal Cloud bills as an action (docs.temporal.io/cloud/actions): every start of a workflow, also as a
 * child or by continue-as-new; timers; signals; accepted updates; started activities and each further try; upserts of
 * search attributes, one per command.
 */
const BILLED = [
  ['workflow started', 'workflowExecutionStartedEventAttributes'],
  ['timer', 'timerStartedEventAttributes'],
  ['signal', 'workflowExecutionSignaledEventAttributes'],
  ['update', 'workflowExecutionUpdateAcceptedEventAttributes'],
  ['search attributes', 'upsertWorkflowSearchAttributesEventAttributes'],
] as const satisfies readonly (readonly [string, keyof HistoryEvent])[];

/** Actions of one run by kind; what leaves no event (heartbeats, queries) is counted elsewhere. */
export function actionsOf({ events }: RunHistory): Record<string, number> {
  const counts: Record<string, number> = {};
  const add = (kind: string, count = 1): void => {
    counts[kind] = (counts[kind] ?? 0) + count;
  };
  for (const event of events) {
    for (const [kind, attributes] of BILLED) if (event[attributes]) add(kind);
    const started = event.activityTaskStartedEventAttributes;
    if (started) add('activity', started.attempt ?? 1);
  }
  const underWay = underWayOf(events);
  if (underWay > 0) add('activity', underWay);
  return counts;
}

/** Activities whose run was ended under them: the server notes a start only together with an end. */
const underWayOf = (events: readonly HistoryEvent[]): number =>
  events.filter((event) => event.activityTaskScheduledEventAttributes).length -
  events.filter((event) => event.activityTaskStartedEventAttributes).length;
