import type { ArchivedEntry, ReceiptActivities } from '../../contract/activities';
import { codedFailure } from '../../contract/coded-failure';
import type { FailureCode } from '../../contract/failures';
import { taskWorkflowId } from '../../contract/names';
import { queueReceipt, ReceiptConflictError } from './queue-receipt';
import type { Store } from './store';

/** What the receipt activities need. */
export interface ReceiptDependencies {
  readonly store: Store;
  /** The current moment, ISO 8601. */
  now(): string;
}

/** Makes the activities that write the receipt store. */
export function createReceiptActivities({ store, now }: ReceiptDependencies): ReceiptActivities {
  return {
    queueReceipt: (order) => queueReceipt(store, order, now()).catch(toReceiptFailure),
    archiveEntries: ({ task, entries }) => archive(store, taskWorkflowId(task), entries).catch(toReceiptFailure),
  };
}

async function archive(store: Store, task: string, entries: readonly ArchivedEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ kind, id, body }) => ({ task, kind, id, body: JSON.stringify(body) }));
  await store
    .insertInto('archive')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['task', 'kind', 'id']).doNothing())
    .execute();
}

/** The one mapping of this family's errors to failures: a conflict is final, storage may come back. */
function toReceiptFailure(error: unknown): never {
  const code: FailureCode = error instanceof ReceiptConflictError ? 'receipt_conflict' : 'receipt_storage_failed';
  const message = error instanceof Error ? error.message : String(error);
  throw codedFailure(code, message);
}
