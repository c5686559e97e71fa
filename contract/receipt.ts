import { z } from 'zod';
import { parseTaskWorkflowId, taskWorkflowId, type TaskKey } from './names';

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

export const receiptOrderSchema = receiptSchema.pick({ receiptId: true, attemptId: true, resultRef: true }).extend({
  /** How the attempt ended. */
  outcome: z.string().optional(),
  /** False when the run's own report says that nothing was ever started for the attempt. */
  isFenced: z.boolean().optional(),
  /** The host that has the attempt's output. */
  hostId: z.string().optional(),
});
export type ReceiptOrder = z.infer<typeof receiptOrderSchema>;

/** Where a result is: in the history of its task, under its attempt, whatever run of the workflow recorded it. */
export const resultRefOf = (task: TaskKey, attemptId: string): string =>
  `temporal:${taskWorkflowId(task)}:${attemptId}`;

/** The task behind a reference to a result; undefined when it is none of ours. */
export function taskOfResultRef(resultRef: string): TaskKey | undefined {
  const workflowId = /^temporal:(.+):[^:]+$/.exec(resultRef)?.[1];
  return workflowId === undefined ? undefined : parseTaskWorkflowId(workflowId);
}
