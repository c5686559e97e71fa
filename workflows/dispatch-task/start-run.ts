import {
  ActivityFailure,
  ChildWorkflowFailure,
  ParentClosePolicy,
  patched,
  proxyActivities,
  startChild,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { OrphanActivities, RunOrder, RunReport } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, threadWorkflowId } from '../../contract/names';
import { readReport, rolledOverSignal } from '../../contract/resume';
import type { Attempt } from '../../contract/run';
import { isExecutorAlive } from '../fail-orphan';
import { resumeCodex } from '../resume-codex';
import { now } from '../task-record/record';
import { follow } from './follow';
import { unstartedReport } from './unstarted';

/** A run under way: its report, or null once it was let go of. */
export interface Run {
  readonly report: Promise<RunReport | null>;
  letGo(): void;
}

/** Begins a fresh thread here, or resumes a known one under the thread's own id, which is its lease. */
export async function startRun(order: RunOrder, attempt: Attempt): Promise<Run> {
  if (order.threadId === null) return followHere(order, attempt.hostId);
  try {
    return await resumeUnderLease(order, attempt.hostId, order.threadId);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  // The lease is held: by this very attempt when its phase was reset or begun again, else by somebody else's.
  const isOurs = patched('2026-11-lease-holder')
    ? await isLeaseOf(order.threadId, attempt.attemptId)
    : await isExecutorAlive(attempt);
  if (isOurs) return followHere(order, attempt.hostId);
  return { report: Promise.resolve(unstartedReport('failed', 'THREAD_BUSY', now())), letGo: () => undefined };
}

/**
 * Whether a lease is this attempt's own. One that ended meanwhile, or that names nobody, is followed as well: following
 * is idempotent, the fence starts nothing twice, and the provider's own lock keeps a thread to one writer.
 */
async function isLeaseOf(threadId: string, attemptId: string): Promise<boolean> {
  const { findLeaseHolder } = proxyActivities<OrphanActivities>({
    taskQueue: ORCHESTRATOR_QUEUE,
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
  });
  const holder = await findLeaseHolder({ threadId });
  return holder === null || holder === attemptId;
}

async function resumeUnderLease(order: RunOrder, hostId: string, threadId: string): Promise<Run> {
  const child = await startChild(resumeCodex, {
    workflowId: threadWorkflowId(threadId),
    args: [{ order, hostId }],
    memo: { attemptId: order.attemptId },
    // The lease lasts as long as the run, whatever becomes of the task's own workflow.
    parentClosePolicy: ParentClosePolicy.ABANDON,
    typedSearchAttributes: [
      { key: SEARCH_ATTRIBUTE.thread, value: threadId },
      { key: SEARCH_ATTRIBUTE.tenant, value: order.task.tenantId },
      { key: SEARCH_ATTRIBUTE.host, value: hostId },
    ],
  });
  let fallback: Run | undefined;
  const report = child.result().then(
    (result) => (result.detached ? null : read(result.report)),
    (error: unknown) => {
      // Somebody ended the lease from outside; the run itself goes on, and is still ours to follow.
      if (!(error instanceof ChildWorkflowFailure)) throw error;
      fallback = followHere(order, hostId);
      return fallback.report;
    },
  );
  return {
    report,
    letGo: () => {
      if (fallback !== undefined) fallback.letGo();
      else void child.signal(rolledOverSignal).catch(() => undefined); // ended by itself: its result is on its way
    },
  };
}

/** Follows an attempt from this very workflow; a report that nobody can give is a lost one. */
export function followHere(order: RunOrder, hostId: string): Run {
  const following = follow(order, hostId);
  return {
    report: following.report().then(
      (report) => (report === null ? null : read(report)),
      (error: unknown) => {
        if (!(error instanceof ActivityFailure)) throw error;
        return lost(`the host's activity failed: ${error.cause?.message ?? error.message}`);
      },
    ),
    letGo: () => {
      following.letGo();
    },
  };
}

/** Takes a report for what it says, or for a lost one when it says nothing that can be read. */
function read(given: unknown): RunReport {
  return readReport(given, now()) ?? lost("the host's report cannot be read");
}

/** What is known when nobody can say how a run ended: a person decides. */
const lost = (why: string): RunReport => ({
  ...unstartedReport('interrupted_owner', 'interrupted_owner', now()),
  error: why,
  warnings: [why],
});
