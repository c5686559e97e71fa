import { workflowInfo } from '@temporalio/workflow';
import { queueReceipt, receiptTrouble } from '../task-record/receipt-queue';
import { now } from '../task-record/record';
import type { DirectRecord } from './direct-record';
import { addReceipt, noteRecovery } from './state';

/**
 * Queues the receipt of the stored result (DT-21); storage that fails for good is a note beside the status (RQ-7, RQ-8).
 * A task that came to no invocation has none (RQ-3).
 */
export async function queueDirectReceipt(direct: DirectRecord): Promise<void> {
  const { handle, invocationCount, tenantId, hostId } = direct.task;
  if (handle === null || invocationCount === 0) return;
  const { alias, attemptId } = handle;
  // One store may serve several tenants, whose ids are their own.
  const name = tenantId === 'default' ? alias : `${tenantId}/${alias}`;
  const resultRef = `temporal:${workflowInfo().workflowId}:${attemptId}`;
  try {
    const receipt = await queueReceipt({ receiptId: `result:${name}`, attemptId, resultRef, hostId });
    direct.change((task) => addReceipt(task, receipt));
  } catch (error) {
    const { type, evidence } = receiptTrouble(error);
    const code = type === 'receipt_conflict' ? type : 'receipt_storage_failed';
    direct.change((task) => noteRecovery(task, { code, at: now(), evidence }));
  }
}
