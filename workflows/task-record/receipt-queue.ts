import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { ReceiptActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';

/** RQ-12: the same receipt id is tried for 15 minutes; it is idempotent. */
export const { queueReceipt } = proxyActivities<ReceiptActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '15 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** What kept a receipt from being queued; any other error is none of the store's, and is thrown on. */
export function receiptTrouble(error: unknown): { type: string | undefined; evidence: string[] } {
  if (!(error instanceof ActivityFailure)) throw error;
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined;
  return { type, evidence: [cause?.message ?? error.message] };
}
