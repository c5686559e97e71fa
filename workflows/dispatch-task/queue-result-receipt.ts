import { oweReceipt, receiptOrderOf } from '../task-record/owed-receipts';
import { now, type TaskRecord } from '../task-record/record';
import { currentAttempt } from '../task-record/attempt';
import { queueReceipt, receiptTrouble } from '../task-record/receipt-queue';
import { addIncident } from '../task-record/incidents';
import { addReceipt } from '../task-record/settling';

/**
 * Queues the receipt of the stored result. Storage that fails for 15 minutes is an incident: the result stays, and the
 * task at rest queues the same receipt again (RQ-11). An attempt that never passed the fence has none (RQ-3, RQ-6).
 */
export async function queueResultReceipt(record: TaskRecord): Promise<void> {
  const attempt = currentAttempt(record.carried);
  if (attempt === undefined) return;
  const order = receiptOrderOf(record.carried, attempt);
  if (!order.isFenced && record.carried.version > 3) return;
  try {
    const receipt = await queueReceipt(order);
    record.conclude((carried) => addReceipt(carried, receipt));
  } catch (error) {
    const { type, evidence } = receiptTrouble(error);
    if (type === 'receipt_attempt_unknown') return;
    const code = type === 'receipt_conflict' ? type : 'receipt_storage_failed';
    record.conclude((carried) => addIncident(carried, { code, at: now(), evidence }));
    if (code === 'receipt_storage_failed') record.conclude((carried) => oweReceipt(carried, order));
  }
}
