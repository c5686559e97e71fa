import { z } from 'zod';
import { keptCheckpointSchema } from './checkpoint';
import { failure, type Failure } from './failures';
import type { Task } from './task';
import { instant } from './text';

const tokens = z.int().min(1).max(1e12);
const timeMs = z
  .int()
  .min(1_000)
  .max(365 * 86_400_000);
const attempts = z.int().min(1).max(1_000);
const progress = z.int().min(1).max(100);

/** Ceilings of a delivery: tokens (input that was not cached, and output), milliseconds of run time, attempts, attempts in a row without progress; what was given later may make them higher than a dispatch may ask for. */
export const budgetSchema = z.strictObject({
  tokens: z.int().nullable(),
  timeMs: z.int().nullable(),
  attempts: z.int(),
  progress: z.int(),
});
export type Budget = z.infer<typeof budgetSchema>;

/** Ceilings of a delivery that was given none. */
export const DEFAULT_BUDGET: Budget = { tokens: null, timeMs: null, attempts: 20, progress: 3 };

/** Asks for attempts in a row on one thread until the acceptance criteria are proven; with a review in the end, if asked for. */
export const superviseSchema = z.strictObject({
  budget: z
    .strictObject({
      tokens: tokens.optional(),
      timeMs: timeMs.optional(),
      attempts: attempts.optional(),
      progress: progress.optional(),
    })
    .prefault({}),
  verify: z.boolean().optional(),
});
export type Supervise = z.infer<typeof superviseSchema>;

/** Refuses a delivery that nothing could prove: neither an acceptance criterion nor a review in the end. */
export function refuseUnprovable(
  { id, acceptance = [] }: { readonly id: string; readonly acceptance?: Task['acceptance'] | undefined },
  supervise: Supervise | undefined,
): Failure | null {
  if (supervise === undefined || acceptance.length > 0 || supervise.verify === true) return null;
  return failure('invalid_criteria', `task ${id} has no acceptance criteria to prove`, { taskId: id });
}

/** How much more than it has used up a person lets a delivery use, at least; it takes nothing away. */
export const raiseSchema = z.strictObject({
  tokens: tokens.optional(),
  timeMs: timeMs.optional(),
  attempts: attempts.optional(),
});
export type Raise = z.infer<typeof raiseSchema>;

export const budgetReason = z.enum(['token_budget', 'time_budget', 'attempt_budget', 'progress_budget']);
export type BudgetReason = z.infer<typeof budgetReason>;

/** A supervised delivery: it stays with its task over crashes, resumes and reopenings. */
export const deliverySchema = z.strictObject({
  budget: budgetSchema,
  verify: z.boolean(),
  spent: z.strictObject({ tokens: z.number(), timeMs: z.number(), attempts: z.int() }),
  /** Attempts in a row without progress. */
  fruitless: z.int(),
  /** Checkpoints in a row that were not accepted. */
  misses: z.int(),
  /** The last checkpoint that was accepted, and the attempt that made it. */
  checkpoint: z.strictObject({ attemptId: z.uuid(), at: instant, report: keptCheckpointSchema }).nullable(),
  /** What the product or a reviewer found missing although the agent said `done`. */
  findings: z.array(z.string()),
  /** Why the last checkpoint was not accepted; the agent is told this and nothing else (CK-10). */
  diagnostic: z.string().nullable(),
  /** State of the workspace that the last attempt left behind, as the host names it. */
  workspace: z.string().nullable(),
  /** The budget that is used up; a person decides. */
  pausedBy: budgetReason.nullable(),
});
export type Delivery = z.infer<typeof deliverySchema>;
