import { defineQuery, defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import type { ProbeReport } from './activities';
import type { TaskKey } from './names';
import { attemptSchema } from './run';
import { request } from './task';
import { id, instant } from './text';

/** A task that says `in_progress` because somebody said so, without a dispatch: who, and the run that it named. */
const claimSchema = z.strictObject({
  at: instant,
  actor: z.string(),
  hostId: id,
  runId: z.uuid().nullable(),
  threadId: z.string().nullable(),
});
export type Claim = z.infer<typeof claimSchema>;

/** What `failOrphan` is asked: which task, and the attempt or the claim behind which something may still execute it. */
export const orphanInputSchema = z.strictObject({
  task: z.strictObject({ tenantId: id, taskId: id }),
  attempt: attemptSchema.nullable(),
  claim: claimSchema.nullable().default(null),
});
export type OrphanInput = z.input<typeof orphanInputSchema>;

/** What became of a task's executor, with the evidence; only `dead` lets anyone act. */
export type Verdict = ProbeReport;

export const failOrphanSchema = z.strictObject(request);

/** What a task says after it judged its executor. */
export interface JudgedOrphan extends Verdict {
  readonly success: true;
  readonly taskId: string;
  /** Whether the task was failed with `no_executor`. */
  readonly failed: boolean;
}

export const failOrphanUpdate = defineUpdate<JudgedOrphan, [z.input<typeof failOrphanSchema>]>('failOrphan');

/** What the executor of a task that says `in_progress` would be; null when the task says something else. */
export const executorQuery = defineQuery<OrphanInput | null>('executor');

/** A task that may be an orphan: claimed without a dispatch, or its workflow was ended in mid-run. */
export interface OrphanCandidate extends TaskKey {
  readonly kind: 'claimed' | 'closed';
  /** The newest run of its workflow. */
  readonly runId: string;
  /** How the run was closed and when, or who claimed the task. */
  readonly evidence: string;
  readonly executor: OrphanInput | null;
}

/** Input of the sweep; it looks at this many candidates at most, and only tells what it would do unless it is to act. */
export const sweepInputSchema = z.strictObject({
  tenantId: id.optional(),
  /** Looks at one task alone; with its tenant. */
  taskId: id.optional(),
  limit: z.int().min(1).max(1_000).default(100),
  apply: z.boolean().default(true),
});
export type SweepInput = z.input<typeof sweepInputSchema>;

/** What a sweep found out about one task, and what it did: `left` when nothing was proven, or it was only to look. */
export interface OrphanFinding extends TaskKey, Verdict {
  readonly kind: OrphanCandidate['kind'];
  readonly action: 'failed' | 'restored' | 'left';
}

export interface Sweep {
  readonly orphans: OrphanFinding[];
}
