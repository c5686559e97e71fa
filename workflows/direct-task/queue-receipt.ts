import { ActivityFailure, ApplicationFailure, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReceiptActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { now } from '../task-record/record';
import type { DirectRecord } from './direct-record';
import { addReceipt, noteRecovery } from './state';

/** RQ-12: the same receipt id is tried for 15 minutes; it is idempotent. */
const { queueReceipt } = proxyActivities<ReceiptActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '15 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * Queues the receipt of the stored result (DT-21); storage that fails for good is a note beside the status (RQ-7, RQ-8).
 * A task that came to no invocation has none (RQ-3).
 */
export async function queueDirectReceipt(direct: DirectRecord): Promise<void> {
  const { handle, invocationCount, tenantId } = direct.task;
  if (handle === null || invocationCount === 0) return;
  const { alias, attemptId } = handle;
  // One store may serve several tenants, whose ids are their own.
  const name = tenantId === 'default' ? alias : `${tenantId}/${alias}`;
  const resultRef = `temporal:${workflowInfo().workflowId}:${attemptId}`;
  try {
    const receipt = await queueReceipt({ receiptId: `result:${name}`, attemptId, resultRef });
    direct.change((task) => addReceipt(task, receipt));
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause } = error;
    const isConflict = cause instanceof ApplicationFailure && cause.type === 'receipt_conflict';
    const code = isConflict ? 'receipt_conflict' : 'receipt_storage_failed';
    const evidence = [cause?.message ?? error.message];
    direct.change((task) => noteRecovery(task, { code, at: now(), evidence }));
  }
}
