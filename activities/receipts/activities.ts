import type {
  ArchivedEntry,
  DeliveryActivities,
  ReceiptActivities,
  ReceiptStoreActivities,
} from '../../contract/activities';
import { codedFailure } from '../../contract/coded-failure';
import type { FailureCode } from '../../contract/failures';
import { taskWorkflowId } from '../../contract/names';
import { giveUpReceipt, postReceipt, type DeliveryDependencies } from './deliver';
import { acknowledgeReceipts, listReceipts, resendReceipts } from './ledger';
import { AttemptUnknownError, queueReceipt, ReceiptConflictError } from './queue-receipt';
import type { Store } from './store';

/** What the receipt activities need. */
export interface ReceiptDependencies {
  readonly store: Store;
  /** The current moment, ISO 8601. */
  now(): string;
}

/** Makes the activities that write the receipt store, and those that callers ask it by. */
export function createReceiptActivities({
  store,
  now,
}: ReceiptDependencies): ReceiptActivities & ReceiptStoreActivities {
  return {
    queueReceipt: (order) => queueReceipt(store, order, now()).catch(toReceiptFailure),
    archiveEntries: ({ task, entries }) => archive(store, taskWorkflowId(task), entries).catch(toReceiptFailure),
    listReceipts: (request) => listReceipts(store, request).catch(toReceiptFailure),
    acknowledgeReceipts: (request) => acknowledgeReceipts(store, request, now()).catch(toReceiptFailure),
    resendReceipts: (request) => resendReceipts(store, request).catch(toReceiptFailure),
  };
}

/** Makes the activities that take receipts to a webhook. */
export const createDeliveryActivities = (deps: DeliveryDependencies): DeliveryActivities => ({
  postReceipt: ({ receiptId }) => postReceipt(deps, receiptId),
  giveUpReceipt: ({ receiptId, error }) => giveUpReceipt(deps, receiptId, error),
});

async function archive(store: Store, task: string, entries: readonly ArchivedEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ kind, id, body }) => ({ task, kind, id, body: JSON.stringify(body) }));
  await store
    .insertInto('archive')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['task', 'kind', 'id']).doNothing())
    .execute();
}

/** The one mapping of this family's errors to failures: what was refused is final, storage may come back. */
function toReceiptFailure(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  throw codedFailure(codeOf(error), message);
}

function codeOf(error: unknown): FailureCode {
  if (error instanceof ReceiptConflictError) return 'receipt_conflict';
  return error instanceof AttemptUnknownError ? 'receipt_attempt_unknown' : 'receipt_storage_failed';
}
