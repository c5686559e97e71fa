import { z } from 'zod';

/** A durable note that the result of an attempt was stored, with a reference to it and never its text (RQ-14). */
export const receiptSchema = z.strictObject({
  receiptId: z.string(),
  attemptId: z.string(),
  resultRef: z.string(),
  /** Position in the store's queue, from 1. */
  sequence: z.int(),
  queuedAt: z.string(),
});
export type Receipt = z.infer<typeof receiptSchema>;

export const receiptOrderSchema = receiptSchema.pick({ receiptId: true, attemptId: true, resultRef: true });
export type ReceiptOrder = z.infer<typeof receiptOrderSchema>;
