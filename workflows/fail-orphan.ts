import { ActivityFailure, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ProviderActivities } from '../contract/activities';
import { invalidArgument } from '../contract/failures';
import { hostQueue } from '../contract/names';
import { orphanInputSchema, type OrphanInput, type Verdict } from '../contract/orphan';
import type { Attempt } from '../contract/run';
import { refuse } from './task-record/refusal';

/**
 * Proof of what became of a task whose executor is gone. It owns nothing but its verdict: whoever holds the record acts
 * on it. It ends with the first proof, or with `unknown` when the host does not answer in time.
 */
export async function failOrphan(input: OrphanInput): Promise<Verdict> {
  const parsed = orphanInputSchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const verdict = await judge(parsed.data.attempt);
  setCurrentDetails(`executor ${verdict.liveness}: ${verdict.evidence.join('; ')}`);
  return verdict;
}

/** Whether the host proves that an attempt's executor lives. */
export async function isExecutorAlive(attempt: Attempt): Promise<boolean> {
  return (await judge(attempt)).liveness === 'alive';
}

async function judge(attempt: Attempt | null): Promise<Verdict> {
  if (attempt === null) return { liveness: 'dead', evidence: ['no run was ever started for it'] };
  const { attemptId, threadId, codexHome, hostId, outcome, endedAt } = attempt;
  if (outcome !== null && outcome !== 'interrupted_owner') {
    return { liveness: 'dead', evidence: [`attempt ${attemptId} ended ${outcome} at ${endedAt ?? 'an unknown time'}`] };
  }
  // Short to start, because a host that does not answer is unknown and never dead; retried, because it only reads.
  const { probeRun } = proxyActivities<ProviderActivities>({
    taskQueue: hostQueue(hostId),
    scheduleToCloseTimeout: '30 seconds',
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
  });
  try {
    return await probeRun({ attemptId, threadId, codexHome });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return {
      liveness: 'unknown',
      evidence: [`host ${hostId} could not be asked: ${error.cause?.message ?? error.message}`],
    };
  }
}
