import { z } from 'zod';
import type { ProbeReport } from './activities';
import { attemptSchema } from './run';
import { id } from './text';

/** What `failOrphan` is asked: which task, and the last attempt that may still execute it. */
export const orphanInputSchema = z.strictObject({
  task: z.strictObject({ tenantId: id, taskId: id }),
  attempt: attemptSchema.nullable(),
});
export type OrphanInput = z.input<typeof orphanInputSchema>;

/** What became of a task's executor, with the evidence; only `dead` lets anyone act. */
export type Verdict = ProbeReport;
