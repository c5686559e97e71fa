import { randomUUID } from 'node:crypto';
import type { Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import { sweepInputSchema, type OrphanFinding, type Sweep } from '../contract/orphan';
import { TypedSearchAttributes } from '@temporalio/common';
import { outcomeOf } from './outcome';
import { refusalOfUnbegun, unlessAbsent } from './record';
import { ask, call, taskHandle, type Session } from './session';

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
    const { orphans } = await unlessAbsent(session, sweeping);
    return { orphans: await Promise.all(orphans.map((found) => withUnbegun(session, found))) };
  });
}

/** Tells a task that never began from one whose executor is gone: nothing brings it back. */
async function withUnbegun(session: Session, found: OrphanFinding): Promise<OrphanFinding> {
  if (found.kind !== 'closed' || found.action !== 'left') return found;
  const { taskId } = found;
  try {
    const handle = await taskHandle(session, taskId);
    const unbegun = await refusalOfUnbegun(session, taskId, await call(session, () => handle.describe()));
    if (unbegun === null) return found;
    return { ...found, evidence: [`${unbegun.error}; create it again with another id`] };
  } catch {
    // What the sweep said still holds.
    return found;
  }
}
