import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type * as activities from './bare-activity';

export const BARE_QUEUE = 'bench-bare';

const { stamp } = proxyActivities<typeof activities>({ startToCloseTimeout: '1 minute' });

/** The least that Temporal can do for a run: one workflow, one activity. */
export async function bare(): Promise<number> {
  return stamp();
}

export const endRestSignal = defineSignal('endRest');

/** The least that can rest. */
export async function bareRest(): Promise<void> {
  let isEnded = false;
  setHandler(endRestSignal, () => {
    isEnded = true;
  });
  await condition(() => isEnded);
}
