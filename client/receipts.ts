import { randomUUID } from 'node:crypto';
import { TypedSearchAttributes } from '@temporalio/common';
import type { Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import {
  RECEIPT_PAGE,
  receiptRequestSchema,
  type ReceiptList,
  type ReceiptRequest,
  type ReceiptState,
  type Resent,
  type StoredReceipt,
} from '../contract/receipt-store';
import { outcomeOf, valueOf } from './outcome';
import { unlessAbsent } from './record';
import { ask, type Session } from './session';

/** Milliseconds that a request of the store may take; it is tried for 20 seconds. */
const ANSWER_MS = 30_000;

/** Which receipts a list shows. */
export interface ReceiptFilter {
  /** Sequence behind which the list begins. */
  readonly after?: number;
  /** Up to 1000; 100 when it is left out. */
  readonly limit?: number;
  readonly taskId?: string;
  readonly state?: ReceiptState;
}

/** Lists this tenant's receipts in the order of the queue, in pages: an answer enters history. */
export async function listReceipts(session: Session, filter: ReceiptFilter): Promise<Outcome<ReceiptList>> {
  const { after = 0, limit = 100, taskId, state } = filter;
  return outcomeOf(async () => {
    const receipts: StoredReceipt[] = [];
    for (;;) {
      const page = Math.min(RECEIPT_PAGE, limit - receipts.length);
      const begin = receipts.at(-1)?.sequence ?? after;
      const request = { tenantId: session.home.tenantId, after: begin, limit: page, taskId, state };
      const found = valueOf(await serve<ReceiptList>(session, { kind: 'list', request }));
      receipts.push(...found.receipts);
      if (found.receipts.length < page || receipts.length >= limit) return { receipts };
    }
  });
}

/** Acknowledges receipts, all or none; again is no error. */
export async function acknowledgeReceipts(session: Session, receiptIds: string[]): Promise<Outcome<ReceiptList>> {
  const request = { tenantId: session.home.tenantId, receiptIds };
  return outcomeOf(async () => valueOf(await serve<ReceiptList>(session, { kind: 'acknowledge', request })));
}

/** Has the delivery begun anew of receipts that are not delivered: the named ones, or all. */
export async function resendReceipts(session: Session, receiptIds: string[]): Promise<Outcome<Resent>> {
  const request = { tenantId: session.home.tenantId, receiptIds };
  return outcomeOf(async () => valueOf(await serve<Resent>(session, { kind: 'resend', request })));
}

/** Asks the store through a workflow: it is on the orchestrator's machine, and callers are on any host. */
async function serve<T>(session: Session, request: ReceiptRequest): Promise<Outcome<T>> {
  const { tenantId } = session.home;
  const given = receiptRequestSchema.parse(request);
  const serving = ask(session, ANSWER_MS, (client) =>
    client.workflow.execute<(input: ReceiptRequest) => Promise<Outcome<T>>>(WORKFLOW.serveReceipts, {
      workflowId: `receipts/${tenantId}/${randomUUID()}`,
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [given],
      // A request that nobody waits for any more is not carried out long after.
      workflowExecutionTimeout: 2 * ANSWER_MS,
      typedSearchAttributes: new TypedSearchAttributes([{ key: SEARCH_ATTRIBUTE.tenant, value: tenantId }]),
    }),
  );
  return unlessAbsent(session, serving);
}
