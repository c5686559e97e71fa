import { failure, type Failure, type Outcome } from '../../contract/failures';
import {
  RECEIPT_PAGE,
  type AcknowledgeReceipts,
  type ListReceipts,
  type ReceiptList,
  type ResendReceipts,
  type Resent,
} from '../../contract/receipt-store';
import { isInState, isUndelivered, storedReceipt } from './receipt-state';
import type { ReceiptRow, Store } from './store';

const DAY_MS = 86_400_000;
/** RQ-15: so long an acknowledged receipt stays, so that a late repeat of it is still known. */
const KEPT_MS = 30 * DAY_MS;

/** Receipts of a tenant behind a sequence, in their order. */
export async function listReceipts(store: Store, request: ListReceipts): Promise<ReceiptList> {
  const { tenantId, after, limit, taskId, state } = request;
  let query = store
    .selectFrom('receipts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit);
  if (taskId !== undefined) query = query.where('task_id', '=', taskId);
  if (state !== undefined) query = query.where(isInState(state));
  return { receipts: (await query.execute()).map(storedReceipt) };
}

/** Acknowledges receipts, all or none; the moment of the first time stays. */
export async function acknowledgeReceipts(
  store: Store,
  { tenantId, receiptIds }: AcknowledgeReceipts,
  at: string,
): Promise<Outcome<ReceiptList>> {
  const refusal = await refuseUnknown(store, tenantId, receiptIds);
  if (refusal !== null) return refusal;
  await store
    .updateTable('receipts')
    .set({ acknowledged_at: at })
    .where('receipt_id', 'in', receiptIds)
    .where('acknowledged_at', 'is', null)
    .execute();
  return { success: true, receipts: (await named(store, tenantId, receiptIds)).map(storedReceipt) };
}

/** Has deliveries begin anew that failed, or that somebody ended: the named ones, or all of the tenant's. */
export async function resendReceipts(store: Store, { tenantId, receiptIds }: ResendReceipts): Promise<Outcome<Resent>> {
  const refusal = await refuseUnknown(store, tenantId, receiptIds);
  if (refusal !== null) return refusal;
  const undelivered = store
    .updateTable('receipts')
    .set({ begun_at: null, failed_at: null, error: null })
    .where('tenant_id', '=', tenantId)
    .where(isUndelivered);
  const meant = receiptIds.length === 0 ? undelivered : undelivered.where('receipt_id', 'in', receiptIds);
  const { numUpdatedRows } = await meant.executeTakeFirstOrThrow();
  return { success: true, resent: Number(numUpdatedRows) };
}

const named = (store: Store, tenantId: string, ids: readonly string[]): Promise<ReceiptRow[]> =>
  store
    .selectFrom('receipts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('receipt_id', 'in', ids)
    .orderBy('sequence')
    .execute();

/** Refuses what is unknown; a receipt of another tenant is as if it were not there. */
async function refuseUnknown(store: Store, tenantId: string, ids: readonly string[]): Promise<Failure | null> {
  if (ids.length === 0) return null;
  const known = new Set((await named(store, tenantId, ids)).map((row) => row.receipt_id));
  const unknown = ids.filter((receiptId) => !known.has(receiptId));
  if (unknown.length === 0) return null;
  return failure('receipt_unknown', `there is no receipt ${unknown.slice(0, 5).join(', ')}`);
}

/** Has a host remove what it keeps of attempts; asking again is harmless. */
export type RemoveRuns = (hostId: string, attemptIds: string[]) => Promise<void>;

/**
 * Removes what was acknowledged more than 30 days ago (RQ-15), after the hosts were told (DW-17), and keeps the queue's
 * count. Statement by statement: a transaction that pauses would lock out the other handles of this process. Answers how
 * many went.
 */
export async function removeAcknowledged(store: Store, now: Date, removeRuns: RemoveRuns): Promise<number> {
  const before = new Date(now.getTime() - KEPT_MS).toISOString();
  const { sequence } = await store
    .selectFrom('receipts')
    .select(({ fn }) => fn.max<number | null>('sequence').as('sequence'))
    .where('acknowledged_at', '<', before)
    .executeTakeFirstOrThrow();
  if (sequence === null) return 0;
  for (const [hostId, attemptIds] of await runsBefore(store, before)) await removeRuns(hostId, attemptIds);
  await store
    .insertInto('removed')
    .values({ id: 1, sequence })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ sequence }).where('removed.sequence', '<', sequence))
    .execute();
  const removed = store.deleteFrom('receipts').where('acknowledged_at', '<', before);
  return Number((await removed.executeTakeFirstOrThrow()).numDeletedRows);
}

/** Attempts by host, some at a time, whose receipts were acknowledged before a moment. */
async function runsBefore(store: Store, before: string): Promise<[hostId: string, attemptIds: string[]][]> {
  const rows = await store
    .selectFrom('receipts')
    .select(['host_id', 'attempt_id'])
    .where('acknowledged_at', '<', before)
    .orderBy('sequence')
    .execute();
  const hosts = new Set(rows.flatMap(({ host_id: hostId }) => hostId ?? []));
  return [...hosts].flatMap((hostId) => {
    const ids = rows.filter((row) => row.host_id === hostId).map((row) => row.attempt_id);
    const parts = Array.from({ length: Math.ceil(ids.length / RECEIPT_PAGE) }, (_, n) =>
      ids.slice(n * RECEIPT_PAGE, (n + 1) * RECEIPT_PAGE),
    );
    return parts.map((part): [string, string[]] => [hostId, part]);
  });
}
