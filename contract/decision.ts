import { defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import { raiseSchema } from './delivery';
import { request } from './task';
import { line, text } from './text';

/** A person's word about a review, an incident, or a delivery that waits. */
export const decideSchema = z.strictObject({
  ...request,
  /**
   * `retry`, `accept`, `abandon` and `stop` answer an incident, `approve` and `send_back` a review, `continue` a delivery
   * that paused or asked something.
   */
  decision: z.enum(['retry', 'accept', 'abandon', 'stop', 'approve', 'send_back', 'continue']),
  incidentId: line(200).optional(),
  /** The review that was looked at; a decision about an earlier one is refused. */
  reviewId: line(200).optional(),
  note: text(4_000).optional(),
  /** How much more than was used up `continue` allows, at least. */
  raise: raiseSchema.optional(),
});
export type Decide = z.input<typeof decideSchema>;

/** A decision that was taken; with the attempt that it began, if it did. */
export interface DecideAnswer {
  readonly success: true;
  readonly taskId: string;
  readonly status: string;
  readonly attemptId?: string;
}

export const decideUpdate = defineUpdate<DecideAnswer, [Decide]>('decide');
