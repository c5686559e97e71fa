import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './bare-activity';

export const BARE_QUEUE = 'bench-bare';

const { stamp } = proxyActivities<typeof activities>({ startToCloseTimeout: '1 minute' });

/** The least that Temporal can do for a run: one workflow, one activity. */
export async function bare(): Promise<number> {
  return stamp();
}
