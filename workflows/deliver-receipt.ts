import { ActivityFailure, isCancellation, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DeliveryActivities } from '../contract/activities';
import { invalidArgument } from '../contract/failures';
import { ORCHESTRATOR_QUEUE } from '../contract/names';
import { deliverySchema, type Delivery, type DeliveryInput } from '../contract/receipt-store';
import { refuse } from './task-record/refusal';

/** Marking is local to the orchestrator and idempotent: it is tried for as long as the store may need. */
const { giveUpReceipt } = proxyActivities<DeliveryActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/**
 * Takes one receipt to the webhook. It holds nothing but its id: the store knows the rest. It ends when the webhook took
 * or refused it, or when it was tried for long enough. Whoever cancels it leaves the receipt queued.
 */
export async function deliverReceipt(input: DeliveryInput): Promise<Delivery> {
  const parsed = deliverySchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const { receiptId, giveUpAfterMs } = parsed.data;
  const { postReceipt } = proxyActivities<DeliveryActivities>({
    taskQueue: ORCHESTRATOR_QUEUE,
    // Short: so long a receipt waits whose worker was killed while it posted.
    startToCloseTimeout: '20 seconds',
    scheduleToCloseTimeout: giveUpAfterMs,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 hour' },
  });
  const delivery = await postReceipt({ receiptId }).catch((error: unknown) => {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    return giveUpReceipt({ receiptId, error: lastWords(error) });
  });
  setCurrentDetails(delivery.error === null ? delivery.state : `${delivery.state}: ${delivery.error}`);
  return delivery;
}

/** What the last try said; the timeout that ended the tries may hold it as its cause. */
function lastWords({ cause, message }: ActivityFailure): string {
  const last = cause?.cause instanceof Error ? cause.cause : cause;
  return `given up: ${last?.message ?? message}`;
}
