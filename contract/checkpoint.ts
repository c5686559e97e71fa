import { z } from 'zod';

/** Bytes of a checkpoint at most: as much as a record keeps of an observation. */
export const CHECKPOINT_BYTES = 32 * 1024;

const words = (max: number) => z.string().min(1).max(max);

export const criterionState = z.enum(['met', 'unmet', 'unknown']);

/**
 * What an agent reports of its work at the end of a supervised attempt. It is asked for with a schema, which providers
 * do not check, so every field is checked here; lengths are UTF-16 units.
 */
export const checkpointSchema = z.strictObject({
  version: z.literal(1),
  taskId: z.string(),
  /** The provider's thread, where the agent was told of it. */
  session: z.string().nullable(),
  status: z.enum(['continue', 'blocked', 'done']),
  summary: words(2_000),
  /** Needed for `continue`. */
  nextStep: words(1_000).nullable(),
  /** Empty for `done`. */
  remainingWork: z.array(words(500)).max(50),
  /** Every acceptance criterion exactly once. */
  criteria: z
    .array(z.strictObject({ id: z.string(), state: criterionState, evidence: z.array(z.string().max(500)).max(20) }))
    .max(100),
  /** Something outside of the workspace that the agent wants to do; a person answers. */
  proposedAction: z.strictObject({ kind: words(100), description: words(1_000), external: z.boolean() }).nullable(),
  /** Needed for `blocked`. */
  question: words(1_000).nullable(),
});
export type Checkpoint = z.infer<typeof checkpointSchema>;

/** Why a checkpoint was not accepted (CK-8). */
export const CHECKPOINT_PROBLEMS = [
  'checkpoint_missing',
  'checkpoint_malformed',
  'checkpoint_too_large',
  'checkpoint_not_last',
  'field_invalid',
  'task_mismatch',
  'session_mismatch',
  'criteria_unknown',
  'criteria_missing',
  'criteria_open',
] as const;
export type CheckpointProblem = (typeof CHECKPOINT_PROBLEMS)[number];

/** What a reviewer in a thread of its own says about work that claims to be done. */
export const verdictSchema = z.strictObject({
  version: z.literal(1),
  taskId: z.string(),
  verdict: z.enum(['confirmed', 'refuted', 'inconclusive']),
  /** What is missing or wrong; each becomes work that remains. */
  findings: z.array(words(500)).max(50),
});
export type ReviewVerdict = z.infer<typeof verdictSchema>;

/** What an attempt ends with, where its message has to be more than words. */
export const reportKind = z.enum(['checkpoint', 'verdict']);
export type ReportKind = z.infer<typeof reportKind>;

/** The id of an acceptance criterion, by its position in the task. */
export const criterionId = (index: number): string => `c${String(index + 1)}`;
