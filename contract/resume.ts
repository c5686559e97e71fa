import { defineSignal } from '@temporalio/workflow';
import { z } from 'zod';
import type { RunReport } from './activities';
import { limitsSchema, policySchema } from './run';
import { id } from './text';

/** Schema of the order that a host gets for one attempt (`RunOrder`). */
export const runOrderSchema = z.strictObject({
  attemptId: z.uuid(),
  task: z.strictObject({ tenantId: id, taskId: id }),
  mode: z.enum(['start', 'resume']),
  threadId: z.string().nullable(),
  codexHome: z.string().nullable(),
  message: z.string(),
  repository: z.string().nullable(),
  policy: policySchema,
  limits: limitsSchema,
});

/** What `resumeCodex` is asked: the order, and the host that has the thread. */
export const resumeInputSchema = z.strictObject({ order: runOrderSchema, hostId: id });
export type ResumeInput = z.input<typeof resumeInputSchema>;

/** The run's report, or word that it was let go of for the parent's next run to adopt. */
export type ResumeResult = { detached: true } | { detached: false; report: RunReport };

/** The parent's run is about to end while the provider goes on: let go of it. */
export const rolledOverSignal = defineSignal('rolledOver');
