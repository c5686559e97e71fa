import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import type { ReceiptState, StoredReceipt } from '../../contract/receipt-store';
import type { ReceiptRow, StoreSchema } from './store';

/** The state follows from what has happened: an acknowledgement says more than a delivery, a delivery more than a failure. */
export function stateOf(row: Pick<ReceiptRow, 'acknowledged_at' | 'delivered_at' | 'failed_at'>): ReceiptState {
  if (row.acknowledged_at !== null) return 'acknowledged';
  if (row.delivered_at !== null) return 'delivered';
  return row.failed_at === null ? 'queued' : 'failed';
}

type Condition = (
  builder: ExpressionBuilder<StoreSchema, 'receipts'>,
) => ExpressionWrapper<StoreSchema, 'receipts', SqlBool>;

/** Neither delivered nor acknowledged: queued, or failed. */
export const isUndelivered: Condition = ({ and, eb }) =>
  and([eb('acknowledged_at', 'is', null), eb('delivered_at', 'is', null)]);

/** The same as `stateOf`, as a condition on rows. */
export const isInState =
  (state: ReceiptState): Condition =>
  (builder) => {
    const { and, eb } = builder;
    switch (state) {
      case 'acknowledged':
        return and([eb('acknowledged_at', 'is not', null)]);
      case 'delivered':
        return and([eb('acknowledged_at', 'is', null), eb('delivered_at', 'is not', null)]);
      case 'failed':
        return and([isUndelivered(builder), eb('failed_at', 'is not', null)]);
      case 'queued':
        return and([isUndelivered(builder), eb('failed_at', 'is', null)]);
    }
  };

/** A row as callers see it. */
export const storedReceipt = (row: ReceiptRow): StoredReceipt => ({
  receiptId: row.receipt_id,
  attemptId: row.attempt_id,
  resultRef: row.result_ref,
  sequence: row.sequence,
  queuedAt: row.queued_at,
  tenantId: row.tenant_id,
  taskId: row.task_id,
  outcome: row.outcome,
  state: stateOf(row),
  deliveredAt: row.delivered_at,
  acknowledgedAt: row.acknowledged_at,
  failedAt: row.failed_at,
  error: row.error,
});
