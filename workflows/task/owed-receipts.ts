import { ActivityFailure, CancellationScope, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { ReceiptActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import type { Receipt, ReceiptOrder } from '../../contract/receipt';
import { dropOwed, receiveOwed } from '../task-record/owed-receipts';
import { addIncident } from '../task-record/incidents';
import { now, type TaskRecord } from '../task-record/record';

/** Tried for as long as the store is out of order, by the server alone: the task waits and adds nothing to its history. */
const { queueReceipt } = proxyActivities<ReceiptActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 minute', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/** Queues a receipt that could not be stored (RQ-11), unless something else turns up that the task has to do first. */
export async function queueOwedReceipt(
  record: TaskRecord,
  order: ReceiptOrder,
  isNeeded: () => boolean,
): Promise<void> {
  const scope = new CancellationScope();
  let isOver = false;
  void condition(() => isOver || isNeeded()).then(() => {
    scope.cancel();
  });
  try {
    const receipt: Receipt = await scope.run(() => queueReceipt(order));
    record.commit((carried) => receiveOwed(carried, receipt, now()));
  } catch (error) {
    if (isCancellation(error)) return;
    if (!(error instanceof ActivityFailure)) throw error;
    const evidence = [error.cause?.message ?? error.message];
    const incident = { code: 'receipt_conflict', at: now(), evidence, subject: order.attemptId } as const;
    record.commit((carried) => dropOwed(addIncident(carried, incident), order.receiptId));
  } finally {
    isOver = true;
  }
}
