import { randomUUID } from 'node:crypto';
import { round } from '../overhead/figures';
import { BARE_QUEUE, endRestSignal, type bareRest } from '../overhead/bare-workflow';
import { chooseWorkspace } from '../../client/workspace';
import type { Population } from './population';

const GIT_CALLS = 100;

/** How fast tasks are created while so many are there at the end. */
export interface CreateRate {
  readonly tasks: number;
  /** Tasks a second through the product's client, its look at the repository among it. */
  readonly perSecond: number;
  /** Starts a second of a bare workflow that rests. */
  readonly barePerSecond: number;
  /** How often the client looks at a repository in a second (three calls of git), with nothing else. */
  readonly looksPerSecond: number;
  /** How many bare starts one task takes. */
  readonly ratio: number;
}

/** Grows a population by `count`; the bare workflow comes first, and its runs are ended so that they do not add up. */
export async function measureCreation(tasks: Population, count: number, repository: string): Promise<CreateRate> {
  const barePerSecond = await bareRate(tasks, count);
  const looksPerSecond = await tasks.rateOf(GIT_CALLS, async () => {
    await chooseWorkspace(repository);
  });
  const perSecond = await tasks.growTo(tasks.size + count);
  return { tasks: tasks.size, perSecond, barePerSecond, looksPerSecond, ratio: round(barePerSecond / perSecond) };
}

async function bareRate(tasks: Population, count: number): Promise<number> {
  const { workflow } = await tasks.session.client();
  const started: string[] = [];
  const rate = await tasks.rateOf(count, async () => {
    const workflowId = `bare/${randomUUID()}`;
    await workflow.start<typeof bareRest>('bareRest', { taskQueue: BARE_QUEUE, workflowId });
    started.push(workflowId);
  });
  await tasks.rateOf(count, async () => {
    const handle = workflow.getHandle(started.pop() ?? '');
    await handle.signal(endRestSignal);
    await handle.result();
  });
  return rate;
}
