import { ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { ReceiptStoreActivities } from '../contract/activities';
import { failure, invalidArgument, type Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import { receiptRequestSchema, type ReceiptList, type ReceiptRequest, type Resent } from '../contract/receipt-store';

/** A caller waits for it, and repeating any of these has no second effect. */
const { listReceipts, acknowledgeReceipts, resendReceipts } = proxyActivities<ReceiptStoreActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '20 seconds',
  retry: { initialInterval: '500 milliseconds', maximumAttempts: 3 },
});

/** Takes one request to the receipt store: only the orchestrator's machine has it, and callers are on any host. */
export async function serveReceipts(input: ReceiptRequest): Promise<Outcome<ReceiptList | Resent>> {
  const parsed = receiptRequestSchema.safeParse(input);
  if (!parsed.success) return invalidArgument(parsed.error);
  try {
    return await serve(parsed.data);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return failure('receipt_storage_failed', error.cause?.message ?? error.message);
  }
}

type Parsed = ReturnType<typeof receiptRequestSchema.parse>;

async function serve(given: Parsed): Promise<Outcome<ReceiptList | Resent>> {
  switch (given.kind) {
    case 'list':
      return { success: true, ...(await listReceipts(given.request)) };
    case 'acknowledge':
      return acknowledgeReceipts(given.request);
    case 'resend':
      return resendReceipts(given.request);
  }
}
