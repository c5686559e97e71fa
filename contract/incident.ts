import { defineQuery } from '@temporalio/workflow';
import { z } from 'zod';
import { failureCode } from './failures';
import { instant } from './text';

/**
 * What was saved of an attempt whose executor was lost: cleaned, bounded; the whole is with its host. Known fields only,
 * because a host may be newer.
 */
export const snapshotSchema = z.object({
  at: instant,
  /** The last message of the agent, cut. */
  lastMessage: z.string().nullable(),
  /** The last events, one line each. */
  events: z.array(z.string()),
  /** Tools that were running. */
  openTools: z.int(),
  /** Paths that differ from the last commit, as git names them. */
  changes: z.array(z.string()),
  /** The difference to the last commit, cut; new files are only among the changes. */
  diff: z.string(),
  diffBytes: z.int(),
  /** Directory on the host that has the whole output. */
  directory: z.string(),
  workspacePath: z.string().nullable(),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/**
 * What an incident goes through: the executor was lost, was proven gone, what is left of its attempt was saved, somebody
 * decided, an attempt went on from there, and it is over.
 */
export const stageSchema = z.strictObject({
  stage: z.enum(['interrupted', 'probed', 'evidence_saved', 'decided', 'resumed', 'closed']),
  at: instant,
  /** The attempt that the stage is of: the one that went on, from `resumed` on. */
  attemptId: z.string(),
});
export type Stage = z.infer<typeof stageSchema>;

/** Something that happened to an attempt and that a person may have to judge; append-only. */
export const incidentSchema = z.strictObject({
  id: z.string(),
  code: failureCode,
  /** What it is about, usually an attempt id. */
  subject: z.string(),
  at: instant,
  evidence: z.array(z.string()),
  decidedAt: instant.nullable(),
  /** How it was decided, and by whom. */
  decision: z.string().optional(),
  decidedBy: z.string().optional(),
  /** Oldest first, each at most once; none is ever removed. */
  stages: z.array(stageSchema).default([]),
  /** What was saved of the lost attempt; null when its host could not say. */
  snapshot: snapshotSchema.nullable().optional(),
});
export type Incident = z.infer<typeof incidentSchema>;

export const incidentsQuery = defineQuery<Incident[]>('incidents');
