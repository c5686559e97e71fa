import { ApplicationFailure } from '@temporalio/common';
import { FAILURES } from '../../contract/failures';
import type { DeliveredReceipt, Delivery } from '../../contract/receipt-store';
import { judgeAnswer } from './judge-answer';
import { AnswerTimeoutError, post, signatureOf } from './post';
import { isInState, isUndelivered, storedReceipt } from './receipt-state';
import type { ReceiptRow, Store } from './store';

/** Where receipts go. */
export interface Webhook {
  readonly url: URL;
  /** Reads the secret anew, so that a changed one needs no restart. */
  secret(): Promise<string>;
}

/** What a delivery needs. */
export interface DeliveryDependencies {
  readonly store: Store;
  /** Null when this orchestrator has none. */
  readonly webhook: Webhook | null;
  now(): Date;
  /** Aborts when the activity is cancelled, or its worker ends. */
  signal(): AbortSignal;
}

/**
 * Posts a receipt, after those of its attempt that come before it (RQ-13). At least once: a crash between the answer
 * and the mark sends it again, with the same idempotency key.
 *
 * @throws ApplicationFailure `receipt_undelivered`, as long as it may be tried again.
 */
export async function postReceipt(deps: DeliveryDependencies, receiptId: string): Promise<Delivery> {
  const { store, webhook } = deps;
  const row = await find(store, receiptId);
  if (row === undefined) throw undelivered("this orchestrator's store does not hold it");
  if (webhook === null) throw undelivered('this orchestrator has no webhook');
  for (const due of await dueUpTo(store, row)) await postOne(deps, webhook, due);
  return deliveryOf(store, receiptId);
}

/** Marks a delivery that was tried for long enough; one that was made meanwhile stays. */
export async function giveUpReceipt({ store, now }: DeliveryDependencies, receiptId: string, error: string) {
  await markFailed(store, receiptId, { at: now().toISOString(), error });
  return deliveryOf(store, receiptId);
}

const find = (store: Store, receiptId: string): Promise<ReceiptRow | undefined> =>
  store.selectFrom('receipts').selectAll().where('receipt_id', '=', receiptId).executeTakeFirst();

const dueUpTo = (store: Store, { attempt_id, sequence }: ReceiptRow): Promise<ReceiptRow[]> =>
  store
    .selectFrom('receipts')
    .selectAll()
    .where('attempt_id', '=', attempt_id)
    .where('sequence', '<=', sequence)
    .where(isInState('queued'))
    .orderBy('sequence')
    .execute();

async function postOne(deps: DeliveryDependencies, { url, secret }: Webhook, row: ReceiptRow): Promise<void> {
  const body = JSON.stringify(bodyOf(row));
  const timestamp = String(Math.floor(deps.now().getTime() / 1_000));
  const headers = {
    'Idempotency-Key': row.receipt_id,
    'Perdure-Timestamp': timestamp,
    'Perdure-Signature': signatureOf(await secret().catch(unreadable), timestamp, body),
  };
  const answer = await post({ url, body, headers, signal: deps.signal() }).catch(unanswered);
  const judgement = judgeAnswer(answer, deps.now());
  const at = deps.now().toISOString();
  switch (judgement.kind) {
    case 'delivered':
      return markDelivered(deps.store, row.receipt_id, at);
    case 'refused':
      return markFailed(deps.store, row.receipt_id, { at, error: judgement.error });
    case 'again':
      throw undelivered(judgement.error, judgement.afterMs);
  }
}

/** What a webhook gets: the receipt, whose it is and how the attempt ended; never the text of a result (RQ-14). */
function bodyOf(row: ReceiptRow): DeliveredReceipt {
  const { receiptId, attemptId, resultRef, sequence, queuedAt, tenantId, taskId, outcome } = storedReceipt(row);
  return { receiptId, attemptId, resultRef, sequence, queuedAt, tenantId, taskId, outcome };
}

/** By its code alone: a message of the connection may name more of the URL than anyone should read. */
function unanswered(error: unknown): never {
  if (error instanceof AnswerTimeoutError) throw undelivered('the webhook did not answer in time');
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  throw undelivered(`the webhook was not reached: ${typeof code === 'string' ? code : String(name)}`);
}

function unreadable(): never {
  throw undelivered("the webhook's secret cannot be read");
}

function undelivered(message: string, nextRetryDelay?: number): ApplicationFailure {
  const { hint, retryable } = FAILURES.receipt_undelivered;
  return ApplicationFailure.create({
    message,
    type: 'receipt_undelivered',
    details: [{ code: 'receipt_undelivered', hint, retryable }],
    ...(nextRetryDelay !== undefined && { nextRetryDelay }),
  });
}

async function markDelivered(store: Store, receiptId: string, at: string): Promise<void> {
  await store
    .updateTable('receipts')
    .set({ delivered_at: at, failed_at: null, error: null })
    .where('receipt_id', '=', receiptId)
    .where('delivered_at', 'is', null)
    .execute();
}

async function markFailed(
  store: Store,
  receiptId: string,
  { at, error }: { at: string; error: string },
): Promise<void> {
  await store
    .updateTable('receipts')
    .set({ failed_at: at, error })
    .where('receipt_id', '=', receiptId)
    .where(isUndelivered)
    .execute();
}

async function deliveryOf(store: Store, receiptId: string): Promise<Delivery> {
  const row = await find(store, receiptId);
  if (row === undefined) throw undelivered("this orchestrator's store does not hold it");
  const { state, error } = storedReceipt(row);
  return { receiptId, state, error };
}
