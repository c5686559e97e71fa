import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityFailure,
  executeChild,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { OrphanActivities, ProviderActivities } from '../contract/activities';
import { invalidArgument } from '../contract/failures';
import { hostQueue, ORCHESTRATOR_QUEUE, orphanWorkflowId } from '../contract/names';
import { orphanInputSchema, type Claim, type OrphanInput, type Verdict } from '../contract/orphan';
import type { Attempt } from '../contract/run';
import { refuse } from './task-record/refusal';

/**
 * Proof of what became of a task whose executor is gone. It owns nothing but its verdict: whoever holds the record acts
 * on it. It ends with the first proof, or with `unknown` when the host does not answer in time.
 */
export async function failOrphan(input: OrphanInput): Promise<Verdict> {
  const parsed = orphanInputSchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const { task, attempt, claim } = parsed.data;
  const verdict = claim === null ? await judge(attempt) : await judgeClaim(task, claim);
  setCurrentDetails(`executor ${verdict.liveness}: ${verdict.evidence.join('; ')}`);
  return verdict;
}

/** Has an executor judged by a child of its own, one at a time per task. */
export async function judgeOrphan(executor: OrphanInput): Promise<Verdict> {
  try {
    return await executeChild(failOrphan, {
      workflowId: orphanWorkflowId(executor.task),
      args: [executor],
      parentClosePolicy: ParentClosePolicy.ABANDON,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return { liveness: 'unknown', evidence: ['another check of the same task is under way'] };
  }
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
  return probe(hostId, { attemptId, threadId, codexHome });
}

/** A claim is proven empty when its run and its thread are: one that names neither only its author can speak for. */
async function judgeClaim(task: OrphanInput['task'], { at, actor, hostId, runId, threadId }: Claim): Promise<Verdict> {
  const evidence = [`claimed at ${at} by ${actor}`];
  if (runId === null && threadId === null) {
    return { liveness: 'unknown', evidence: [...evidence, 'the claim names no run and no thread'] };
  }
  const holder = threadId === null ? null : await findHolder(task, threadId);
  if (holder !== null) return { liveness: holder.liveness, evidence: [...evidence, ...holder.evidence] };
  const found = await probe(hostId, { attemptId: runId ?? NO_RUN, threadId, codexHome: null });
  // A run of another host, or of nobody we know: that this host has nothing of it proves nothing.
  const isForeign = runId !== null && found.isKnown === false && found.liveness === 'dead';
  return { liveness: isForeign ? 'unknown' : found.liveness, evidence: [...evidence, ...found.evidence] };
}

/** An attempt that no host has. */
const NO_RUN = '00000000-0000-8000-8000-000000000000';

/** Looks for whoever runs on a thread: null when nobody does, unknown when that cannot be found out. */
export async function findHolder(task: OrphanInput['task'], threadId: string): Promise<Verdict | null> {
  const { findThreadHolder } = proxyActivities<OrphanActivities>({
    taskQueue: ORCHESTRATOR_QUEUE,
    scheduleToCloseTimeout: '30 seconds',
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
  });
  try {
    const holder = await findThreadHolder({ threadId, task });
    return holder === null ? null : { liveness: 'alive', evidence: [holder] };
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return { liveness: 'unknown', evidence: [`the thread could not be looked for: ${error.cause?.message ?? ''}`] };
  }
}

/** Asks a host what lives of an attempt. */
async function probe(hostId: string, order: Parameters<ProviderActivities['probeRun']>[0]): Promise<Verdict> {
  // Short to start, because a host that does not answer is unknown and never dead; retried, because it only reads.
  const { probeRun } = proxyActivities<ProviderActivities>({
    taskQueue: hostQueue(hostId),
    scheduleToCloseTimeout: '30 seconds',
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 3 },
  });
  try {
    return await probeRun(order);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return {
      liveness: 'unknown',
      evidence: [`host ${hostId} could not be asked: ${error.cause?.message ?? error.message}`],
    };
  }
}
