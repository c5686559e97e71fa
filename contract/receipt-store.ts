import { z } from 'zod';
import { receiptSchema } from './receipt';
import { id, line } from './text';

/** `failed`: its webhook refused it for good, or it was tried for as long as it may be. */
export const RECEIPT_STATES = ['queued', 'delivered', 'acknowledged', 'failed'] as const;
const receiptState = z.enum(RECEIPT_STATES);
export type ReceiptState = z.infer<typeof receiptState>;

/** A receipt as the store has it; times are ISO 8601, null until it happened. */
export const storedReceiptSchema = receiptSchema.extend({
  tenantId: z.string().nullable(),
  taskId: z.string().nullable(),
  /** How the attempt ended; null for receipts from before this was kept. */
  outcome: z.string().nullable(),
  state: receiptState,
  deliveredAt: z.string().nullable(),
  acknowledgedAt: z.string().nullable(),
  failedAt: z.string().nullable(),
  /** Why its delivery failed. */
  error: z.string().nullable(),
});
export type StoredReceipt = z.infer<typeof storedReceiptSchema>;

/** Receipts that one request of the store answers with: an answer enters history, about 450 bytes each. */
export const RECEIPT_PAGE = 250;

const receiptIds = z.array(line(500)).max(RECEIPT_PAGE);

export const listReceiptsSchema = z.strictObject({
  tenantId: id,
  /** Sequence behind which the list begins. */
  after: z.int().min(0).default(0),
  limit: z.int().min(1).max(RECEIPT_PAGE).default(100),
  taskId: id.optional(),
  state: receiptState.optional(),
});
export type ListReceipts = z.output<typeof listReceiptsSchema>;

export const acknowledgeReceiptsSchema = z.strictObject({ tenantId: id, receiptIds: receiptIds.min(1) });
export type AcknowledgeReceipts = z.output<typeof acknowledgeReceiptsSchema>;

/** Receipts whose delivery is to begin anew; all undelivered ones when none is named. */
export const resendReceiptsSchema = z.strictObject({ tenantId: id, receiptIds });
export type ResendReceipts = z.output<typeof resendReceiptsSchema>;

/** One request to the store, which only the orchestrator's machine has. */
export const receiptRequestSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('list'), request: listReceiptsSchema }),
  z.strictObject({ kind: z.literal('acknowledge'), request: acknowledgeReceiptsSchema }),
  z.strictObject({ kind: z.literal('resend'), request: resendReceiptsSchema }),
]);
export type ReceiptRequest = z.input<typeof receiptRequestSchema>;

export interface ReceiptList {
  readonly receipts: StoredReceipt[];
}

export interface Resent {
  /** How many deliveries begin anew. */
  readonly resent: number;
}

/** Input of a delivery. */
export const deliverySchema = z.strictObject({
  receiptId: z.string(),
  /** Milliseconds for which it is tried. */
  giveUpAfterMs: z.int().min(1_000),
});
export type DeliveryInput = z.input<typeof deliverySchema>;

/** Attempts whose output a host is to remove. */
export const removalSchema = z.strictObject({ hostId: id, attemptIds: z.array(z.uuid()).max(RECEIPT_PAGE) });
export type Removal = z.input<typeof removalSchema>;

/** What became of a delivery. */
export interface Delivery {
  readonly receiptId: string;
  readonly state: ReceiptState;
  readonly error: string | null;
}

/** What a webhook gets: the receipt, whose it is and how the attempt ended; never the text of a result (RQ-14). */
export type DeliveredReceipt = Omit<StoredReceipt, 'state' | 'deliveredAt' | 'acknowledgedAt' | 'failedAt' | 'error'>;
