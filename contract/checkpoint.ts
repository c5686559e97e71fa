import { z } from 'zod';

/** Bytes of a checkpoint at most: as much as a record keeps of an observation. */
export const CHECKPOINT_BYTES = 32 * 1024;

const words = (max: number) => z.string().min(1).max(max);

export const criterionState = z.enum(['met', 'unmet', 'unknown']);

/** The fields of a checkpoint, with the kind of text that those hold that say something; lengths are UTF-16 units. */
const checkpointOf = (text: (max: number) => z.ZodString) =>
  z.strictObject({
    version: z.literal(1),
    taskId: z.string(),
    /** The provider's thread, where the agent was told of it. */
    session: z.string().nullable(),
    status: z.enum(['continue', 'blocked', 'done']),
    summary: text(2_000),
    /** Needed for `continue`. */
    nextStep: text(1_000).nullable(),
    /** Empty for `done`. */
    remainingWork: z.array(text(500)).max(50),
    /** Every acceptance criterion exactly once. */
    criteria: z
      .array(z.strictObject({ id: z.string(), state: criterionState, evidence: z.array(z.string().max(500)).max(20) }))
      .max(100),
    /** Something outside of the workspace that the agent wants to do; a person answers. */
    proposedAction: z.strictObject({ kind: text(100), description: text(1_000), external: z.boolean() }).nullable(),
    /** Needed for `blocked`. */
    question: text(1_000).nullable(),
  });

/**
 * What an agent reports of its work at the end of a supervised attempt. It is asked for with a schema, which providers
 * do not check, so every field is checked here.
 */
export const checkpointSchema = checkpointOf(words);
export type Checkpoint = z.infer<typeof checkpointSchema>;

/** A checkpoint that was accepted: by earlier rules, one whose texts held nothing printable was as well. */
export const keptCheckpointSchema = checkpointOf((max) => z.string().max(max));

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
