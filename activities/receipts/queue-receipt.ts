import { sql } from 'kysely';
import { taskOfResultRef, type Receipt, type ReceiptOrder } from '../../contract/receipt';
import type { ReceiptRow, Store } from './store';

/** A receipt id that is taken by other content (RQ-5); nothing was overwritten. */
export class ReceiptConflictError extends Error {
  override readonly name = 'ReceiptConflictError';

  constructor(readonly receiptId: string) {
    super(`receipt ${receiptId} exists with another attempt or result`);
  }
}

/** An attempt that never passed the fence (RQ-6); nothing was stored. */
export class AttemptUnknownError extends Error {
  override readonly name = 'AttemptUnknownError';

  constructor(readonly attemptId: string) {
    super(`attempt ${attemptId} never passed the fence`);
  }
}

/** Queues a receipt once per receipt id; a repeat answers with the first one and changes nothing (RQ-4). */
export async function queueReceipt(store: Store, order: ReceiptOrder, queuedAt: string): Promise<Receipt> {
  const { receiptId, attemptId, resultRef, isFenced } = order;
  if (isFenced === false) throw new AttemptUnknownError(attemptId);
  await insert(store, rowOf(order, queuedAt));
  const row = await store
    .selectFrom('receipts')
    .selectAll()
    .where('receipt_id', '=', receiptId)
    .executeTakeFirstOrThrow();
  if (row.attempt_id !== attemptId || row.result_ref !== resultRef) throw new ReceiptConflictError(receiptId);
  return { receiptId, attemptId, resultRef, sequence: row.sequence, queuedAt: row.queued_at };
}

function rowOf({ receiptId, attemptId, resultRef, outcome, hostId }: ReceiptOrder, queuedAt: string) {
  const task = taskOfResultRef(resultRef);
  return {
    receipt_id: receiptId,
    attempt_id: attemptId,
    result_ref: resultRef,
    queued_at: queuedAt,
    tenant_id: task?.tenantId ?? null,
    task_id: task?.taskId ?? null,
    outcome: outcome ?? null,
    host_id: hostId ?? null,
  } satisfies Partial<ReceiptRow>;
}

async function insert(store: Store, row: ReturnType<typeof rowOf>): Promise<void> {
  await store
    .insertInto('receipts')
    .columns([
      'sequence',
      'receipt_id',
      'attempt_id',
      'result_ref',
      'queued_at',
      'tenant_id',
      'task_id',
      'outcome',
      'host_id',
    ])
    // Counted in the statement itself: a number that the database hands out is spent by a repeat as well.
    .expression(({ selectFrom, val }) =>
      selectFrom('receipts')
        .select([
          // Removed receipts count: whoever reads on from a sequence must miss nothing.
          sql<number>`max(coalesce(max(sequence), 0), coalesce((select sequence from removed), 0)) + 1`.as('sequence'),
          val(row.receipt_id).as('receipt_id'),
          val(row.attempt_id).as('attempt_id'),
          val(row.result_ref).as('result_ref'),
          val(row.queued_at).as('queued_at'),
          val(row.tenant_id).as('tenant_id'),
          val(row.task_id).as('task_id'),
          val(row.outcome).as('outcome'),
          val(row.host_id).as('host_id'),
        ])
        .where(sql<boolean>`true`),
    )
    .onConflict((conflict) => conflict.column('receipt_id').doNothing())
    .execute();
}
