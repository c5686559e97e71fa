import { ActivityFailure, ApplicationFailure, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReceiptActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { now, type TaskRecord } from '../task-record/record';
import { currentAttempt } from '../task-record/attempt';
import { addIncident, addReceipt } from '../task-record/settling';

/** RQ-12: the same receipt id is tried for 15 minutes; it is idempotent. */
const { queueReceipt } = proxyActivities<ReceiptActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '15 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Queues the receipt of the stored result; storage that fails for good is an incident, and the result stays (RQ-11). */
export async function queueResultReceipt(record: TaskRecord): Promise<void> {
  const attempt = currentAttempt(record.carried);
  if (attempt === undefined) return;
  // Without the run: a phase that an operator resets has the same result under another run id.
  const { workflowId } = workflowInfo();
  const { attemptId } = attempt;
  const order = {
    receiptId: `result:${attemptId}`,
    attemptId,
    resultRef: `temporal:${workflowId}:${attemptId}`,
  };
  try {
    const receipt = await queueReceipt(order);
    record.conclude((carried) => addReceipt(carried, receipt));
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause } = error;
    const isConflict = cause instanceof ApplicationFailure && cause.type === 'receipt_conflict';
    const code = isConflict ? 'receipt_conflict' : 'receipt_storage_failed';
    const evidence = [cause?.message ?? error.message];
    record.conclude((carried) => addIncident(carried, { code, at: now(), evidence }));
  }
}
