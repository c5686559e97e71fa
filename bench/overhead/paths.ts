import { costOf, type Cost } from './cost';
import type { HappyPaths } from './happy';
import { chainOf } from './history';
import type { Part } from './parts';
import type { CountQueries } from './queries';
import type { Tasks } from './tasks';
import { quiet } from './visible';
import { WAYS } from './ways';

/** What one path of a task, or one workflow of it, leaves and costs. */
export interface PathCost extends Cost {
  readonly path: string;
}

interface Trip {
  readonly tasks: Tasks;
  readonly queries: CountQueries;
  readonly signal: AbortSignal;
}

/** The happy paths as rows of the same table. */
export function happyPaths({ createDispatchComplete, run }: HappyPaths): PathCost[] {
  return [row('happy with a caller', createDispatchComplete), row('happy by run', run)];
}

/** Takes every other path once, and counts what its workflows left when they are at rest. */
export async function measurePaths({ tasks, queries, signal }: Trip): Promise<PathCost[]> {
  const costs: PathCost[] = [];
  for (const [path, way] of Object.entries(WAYS)) {
    signal.throwIfAborted();
    for (const part of await way(tasks, signal)) {
      const cost = costOf(await runsOf(tasks, part), queries(part.workflowId));
      costs.push(row(part.name === undefined ? path : `${path}: ${part.name}`, cost));
    }
  }
  return costs;
}

const row = (path: string, { events, bytes, actions }: Cost): PathCost => ({ path, events, bytes, actions });

/** All runs of a part, oldest first; a chain that began again does not name the run that was ended. */
async function runsOf(tasks: Tasks, { workflowId, endedRunId }: Part) {
  const client = await tasks.stage.session.client();
  const open = (runId?: string) => Promise.resolve(client.workflow.getHandle(workflowId, runId));
  await quiet(client, workflowId);
  const earlier = endedRunId === undefined ? [] : await chainOf(open, endedRunId);
  return [...(await chainOf(open)), ...earlier].reverse();
}
