import { resultRefOf, type Receipt, type ReceiptOrder } from '../../contract/receipt';
import type { Attempt, Carried } from '../../contract/run';
import { closeIncident } from './incidents';

/**
 * Whether the run's own report says that something was started for the attempt. One whose executor died counts: what it
 * did is not known.
 */
const hasPassedFence = ({ spawns, startedAt, workspacePath, outcome }: Attempt): boolean =>
  spawns > 0 || startedAt !== null || workspacePath !== null || outcome === 'interrupted_owner';

/** The receipt of an attempt's result; without the run: a phase that is reset has the same result under another run id. */
export function receiptOrderOf({ task }: Carried, attempt: Attempt): ReceiptOrder {
  const { attemptId, outcome, hostId } = attempt;
  return {
    receiptId: `result:${attemptId}`,
    attemptId,
    resultRef: resultRefOf({ tenantId: task.tenantId, taskId: task.id }, attemptId),
    ...(outcome !== null && { outcome }),
    isFenced: hasPassedFence(attempt),
    hostId,
  };
}

/** Notes that a receipt could not be stored: it is queued again, under the same id, as soon as the store works (RQ-11). */
export function oweReceipt(carried: Carried, order: ReceiptOrder): Carried {
  return { ...carried, owedReceipts: [...withoutOwed(carried, order.receiptId), order] };
}

/** Receipts with one more, or with it in the place of the same. */
export const withReceipt = (receipts: readonly Receipt[], receipt: Receipt): Receipt[] => [
  ...receipts.filter(({ receiptId }) => receiptId !== receipt.receiptId),
  receipt,
];

/** Notes that a receipt that was owed is in the store; what was said of its attempt is settled. */
export function receiveOwed(carried: Carried, receipt: Receipt, at: string): Carried {
  const { receiptId, attemptId } = receipt;
  const attempts = carried.attempts.map((attempt) =>
    attempt.attemptId === attemptId ? { ...attempt, receipts: withReceipt(attempt.receipts, receipt) } : attempt,
  );
  const failed = carried.incidents.find(
    ({ code, subject }) => code === 'receipt_storage_failed' && subject === attemptId,
  );
  const incidents = closeIncident(carried.incidents, failed, { at, actor: 'perdure', decision: 'stored' });
  return dropOwed({ ...carried, attempts, incidents }, receiptId);
}

/** Takes a receipt off the list that will never be stored. */
export function dropOwed(carried: Carried, receiptId: string): Carried {
  const { owedReceipts: _, ...rest } = carried;
  const owedReceipts = withoutOwed(carried, receiptId);
  return owedReceipts.length === 0 ? rest : { ...rest, owedReceipts };
}

const withoutOwed = ({ owedReceipts = [] }: Carried, receiptId: string): ReceiptOrder[] =>
  owedReceipts.filter((owed) => owed.receiptId !== receiptId);
