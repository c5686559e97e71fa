import type { WorkflowExecutionInfo } from '@temporalio/client';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import { pollersOf } from './pollers';
import { call, type Session } from './session';

/** Runs per page at most. */
const PAGE = 1_000;

interface Wish {
  readonly query: string;
  /** How many the caller shows; one more tells that there are more. */
  readonly limit: number;
}

/** The runs that visibility knows of. Each page has a deadline of its own: a server may need a second or two for one. */
export async function* visibleRuns(session: Session, { query, limit }: Wish): AsyncGenerator<WorkflowExecutionInfo> {
  const { workflow } = await session.client();
  const runs = workflow.list({ query, pageSize: Math.min(limit + 1, PAGE) })[Symbol.asyncIterator]();
  for (;;) {
    const next = await call(session, () => runs.next());
    if (next.done === true) return;
    yield next.value;
  }
}

/** Marks a list as `stale` when no worker serves the workflows: what it shows may be older than the truth. */
export async function markedStale<T extends object>(
  session: Session,
  listing: Promise<T>,
): Promise<T & { readonly stale?: true }> {
  const [found, workers] = await Promise.all([listing, pollersOf(session, ORCHESTRATOR_QUEUE, 'workflow')]);
  return { ...found, ...(workers.length === 0 && { stale: true as const }) };
}
