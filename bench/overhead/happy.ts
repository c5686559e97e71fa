import { actionsOf, historiesOf } from './history';
import type { Tasks } from './tasks';

/** What one phase of a happy task leaves, or all of them together. */
export interface Cost {
  readonly events: number;
  readonly bytes: number;
  readonly actions: number;
}

export interface HappyTask extends Cost {
  /** By workflow type, in the order in which the phases ran. */
  readonly phases: ({ readonly type: string } & Cost)[];
  /** Billable actions by kind; heartbeats and queries are among them though they leave no event. */
  readonly kinds: Record<string, number>;
}

export interface HappyPaths {
  /** Created, dispatched, run, settled, and the outcome recorded by the caller. */
  readonly createDispatchComplete: HappyTask;
  /** Created and run in one step; the engine records the outcome. */
  readonly run: HappyTask;
}

/** The first heartbeat of a run is sent at once; later ones come twice a minute. */
const HEARTBEATS = 1;

/** Counts what both ways of a happy task leave in the histories and cost in actions. */
export async function measureHappyPaths(tasks: Tasks): Promise<HappyPaths> {
  const queries = await countQueries(tasks);
  const taskId = await tasks.create();
  const dispatched = await tasks.dispatch(taskId);
  await tasks.complete(taskId, await tasks.settled(dispatched));
  const createDispatchComplete = await costOf(tasks, taskId, queries.taken());
  const started = await tasks.run();
  await tasks.settled(started);
  return { createDispatchComplete, run: await costOf(tasks, started.taskId, queries.taken()) };
}

async function costOf(tasks: Tasks, taskId: string, queries: number): Promise<HappyTask> {
  const runs = (await historiesOf(tasks, taskId)).reverse();
  const kinds: Record<string, number> = { heartbeat: HEARTBEATS, ...(queries > 0 && { query: queries }) };
  const phases = runs.map((run) => {
    const counts = actionsOf(run);
    for (const [kind, count] of Object.entries(counts)) kinds[kind] = (kinds[kind] ?? 0) + count;
    return { type: run.type, events: run.events.length, bytes: run.bytes, actions: sum(Object.values(counts)) };
  });
  return {
    events: sum(phases.map(({ events }) => events)),
    bytes: sum(phases.map(({ bytes }) => bytes)),
    actions: sum(Object.values(kinds)),
    phases,
    kinds,
  };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Counts the queries that our own client sends while it waits; they leave no event and are billed all the same. */
async function countQueries(tasks: Tasks): Promise<{ taken(): number }> {
  const { workflowService } = await tasks.stage.session.client();
  const send = workflowService.queryWorkflow;
  let count = 0;
  Object.defineProperty(workflowService, 'queryWorkflow', {
    value: (...args: unknown[]): unknown => {
      count += 1;
      return Reflect.apply(send, workflowService, args);
    },
  });
  return {
    taken() {
      const taken = count;
      count = 0;
      return taken;
    },
  };
}
