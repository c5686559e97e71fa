import { sql } from 'kysely';
import type { Receipt, ReceiptOrder } from '../../contract/receipt';
import type { Store } from './store';

/** A receipt id that is taken by other content (RQ-5); nothing was overwritten. */
export class ReceiptConflictError extends Error {
  override readonly name = 'ReceiptConflictError';

  constructor(readonly receiptId: string) {
    super(`receipt ${receiptId} exists with another attempt or result`);
  }
}

/** Queues a receipt once per receipt id; a repeat answers with the first one and changes nothing (RQ-4). */
export async function queueReceipt(store: Store, order: ReceiptOrder, queuedAt: string): Promise<Receipt> {
  const { receiptId, attemptId, resultRef } = order;
  await store
    .insertInto('receipts')
    .columns(['sequence', 'receipt_id', 'attempt_id', 'result_ref', 'queued_at'])
    // Counted in the statement itself: a number that the database hands out is spent by a repeat as well.
    .expression(({ selectFrom, val }) =>
      selectFrom('receipts')
        .select(({ fn, lit }) => [
          sql<number>`${fn.coalesce(fn.max('sequence'), lit(0))} + 1`.as('sequence'),
          val(receiptId).as('receipt_id'),
          val(attemptId).as('attempt_id'),
          val(resultRef).as('result_ref'),
          val(queuedAt).as('queued_at'),
        ])
        .where(sql<boolean>`true`),
    )
    .onConflict((conflict) => conflict.column('receipt_id').doNothing())
    .execute();
  const row = await store
    .selectFrom('receipts')
    .selectAll()
    .where('receipt_id', '=', receiptId)
    .executeTakeFirstOrThrow();
  if (row.attempt_id !== attemptId || row.result_ref !== resultRef) throw new ReceiptConflictError(receiptId);
  return { receiptId, attemptId, resultRef, sequence: row.sequence, queuedAt: row.queued_at };
}
