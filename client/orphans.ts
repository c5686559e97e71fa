import { randomUUID } from 'node:crypto';
import type { Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import { sweepInputSchema, type Sweep } from '../contract/orphan';
import { TypedSearchAttributes } from '@temporalio/common';
import { outcomeOf } from './outcome';
import { unlessAbsent } from './record';
import { ask, type Session } from './session';

/** Milliseconds that a sweep may take: each task's host has half a minute to answer. */
const SWEEP_MS = 10 * 60_000;

export interface Look {
  readonly apply: boolean;
  /** One task alone. */
  readonly taskId?: string;
}

/**
 * Looks for tasks of this tenant that say `in_progress` while nothing executes them, and for chains that were ended in
 * mid-run. With `apply` the first are failed on proof and the second brought back; without it nothing changes.
 */
export async function findOrphans(session: Session, { apply, taskId }: Look): Promise<Outcome<Sweep>> {
  return outcomeOf(async () => {
    const { tenantId } = session.home;
    const sweeping = ask(session, SWEEP_MS, (client) =>
      client.workflow.execute<(input: object) => Promise<Sweep>>(WORKFLOW.sweepOrphans, {
        workflowId: `sweep/${tenantId}/${randomUUID()}`,
        taskQueue: ORCHESTRATOR_QUEUE,
        args: [sweepInputSchema.parse({ tenantId, taskId, apply })],
        typedSearchAttributes: new TypedSearchAttributes([{ key: SEARCH_ATTRIBUTE.tenant, value: tenantId }]),
      }),
    );
    return unlessAbsent(session, sweeping);
  });
}
