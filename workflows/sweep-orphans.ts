import { ActivityFailure, proxyActivities, uuid4 } from '@temporalio/workflow';
import type { OrphanActivities, ProjectActivities } from '../contract/activities';
import { invalidArgument } from '../contract/failures';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import {
  sweepInputSchema,
  type OrphanCandidate,
  type OrphanFinding,
  type Sweep,
  type SweepInput,
  type Verdict,
} from '../contract/orphan';
import { judgeOrphan } from './fail-orphan';
import { refuse } from './task-record/refusal';

/** A judgement asks a host, which has 30 seconds to answer; repeating any of these has no second effect. */
const { findOrphans, restoreTask, convergeTask, reviveProjects } = proxyActivities<
  OrphanActivities & Pick<ProjectActivities, 'reviveProjects'>
>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/**
 * Looks once for tasks that say `in_progress` while nothing executes them, and for chains that were ended in mid-run:
 * the first are failed on proof, the second begin again from their record. Visibility lists, the task itself decides.
 */
export async function sweepOrphans(input: SweepInput = {}): Promise<Sweep> {
  const parsed = sweepInputSchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const { tenantId = null, taskId = null, limit, apply } = parsed.data;
  if (apply && taskId === null) await reviveProjects({ tenantId });
  const orphans: OrphanFinding[] = [];
  for (const candidate of await findOrphans({ tenantId, taskId, limit })) {
    const finding = await (apply ? act(candidate) : look(candidate)).catch(unknown);
    const { tenantId, taskId, kind } = candidate;
    orphans.push({ tenantId, taskId, kind, action: 'left', ...finding });
  }
  return { orphans };
}

type Found = Verdict & Partial<Pick<OrphanFinding, 'action'>>;

async function act({ tenantId, taskId, kind, runId, evidence }: OrphanCandidate): Promise<Found> {
  const task = { tenantId, taskId };
  if (kind === 'closed') {
    const isRestored = await restoreTask({ task, runId });
    return { liveness: 'unknown', evidence: [evidence], action: isRestored ? 'restored' : 'left' };
  }
  const { liveness, evidence: found, failed } = await convergeTask({ task, requestId: uuid4() });
  return { liveness, evidence: found, action: failed ? 'failed' : 'left' };
}

async function look({ executor, evidence }: OrphanCandidate): Promise<Found> {
  if (executor === null) return { liveness: 'unknown', evidence: [evidence] };
  return judgeOrphan(executor);
}

/** Trouble with one task leaves that one alone. */
function unknown(error: unknown): Found {
  if (!(error instanceof ActivityFailure)) throw error;
  return { liveness: 'unknown', evidence: [`it could not be judged: ${error.cause?.message ?? error.message}`] };
}
