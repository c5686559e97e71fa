import { isInState } from './receipt-state';
import type { Store } from './store';

/** Receipts whose delivery is begun in one go. */
const BATCH = 100;

/** A delivery that was begun so long ago and is not made is begun again: somebody may have ended its workflow. */
const AGAIN_MS = 6 * 3_600_000;

/** Hands a receipt's delivery to the server; doing it again while one is under way is harmless. */
export type BeginDelivery = (receiptId: string) => Promise<void>;

/** Begins the deliveries that are to be begun, in the order of the queue; those that fail come again. */
export async function beginDeliveries(store: Store, begin: BeginDelivery, now: Date): Promise<number> {
  const longAgo = new Date(now.getTime() - AGAIN_MS).toISOString();
  const due = await store
    .selectFrom('receipts')
    .select('receipt_id')
    .where(({ eb, or }) => or([eb('begun_at', 'is', null), eb('begun_at', '<', longAgo)]))
    .where(isInState('queued'))
    .orderBy('sequence')
    .limit(BATCH)
    .execute();
  for (const { receipt_id: receiptId } of due) {
    await begin(receiptId);
    await store
      .updateTable('receipts')
      .set({ begun_at: now.toISOString() })
      .where('receipt_id', '=', receiptId)
      .execute();
  }
  return due.length;
}

/** Has every delivery that is not made begun again: the server may be another one, or somebody ended it. */
export async function forgetBegun(store: Store): Promise<void> {
  await store.updateTable('receipts').set({ begun_at: null }).where(isInState('queued')).execute();
}
