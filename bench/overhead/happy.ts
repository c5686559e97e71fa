import { costOf, type ChainCost } from './cost';
import { historiesOf } from './history';
import type { CountQueries } from './queries';
import type { Tasks } from './tasks';

export interface HappyPaths {
  /** Created, dispatched, run, settled, and the outcome recorded by the caller. */
  readonly createDispatchComplete: ChainCost;
  /** Created and run in one step; the engine records the outcome. */
  readonly run: ChainCost;
}

/** Counts what both ways of a happy task leave in the histories and cost in actions. */
export async function measureHappyPaths(tasks: Tasks, queries: CountQueries): Promise<HappyPaths> {
  const cost = async (taskId: string): Promise<ChainCost> => {
    const { workflowId } = await tasks.handle(taskId);
    return costOf((await historiesOf(tasks, taskId)).reverse(), queries(workflowId));
  };
  const taskId = await tasks.create();
  const dispatched = await tasks.dispatch(taskId);
  await tasks.complete(taskId, await tasks.settled(dispatched));
  const createDispatchComplete = await cost(taskId);
  const started = await tasks.run();
  await tasks.settled(started);
  return { createDispatchComplete, run: await cost(started.taskId) };
}
