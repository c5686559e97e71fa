import { defineQuery } from '@temporalio/workflow';
import { z } from 'zod';
import { failureCode } from './failures';
import { instant } from './text';

/** Something that happened to an attempt and that a person may have to judge; append-only. */
export const incidentSchema = z.strictObject({
  id: z.string(),
  code: failureCode,
  /** What it is about, usually an attempt id. */
  subject: z.string(),
  at: instant,
  evidence: z.array(z.string()),
  decidedAt: instant.nullable(),
});
export type Incident = z.infer<typeof incidentSchema>;

export const incidentsQuery = defineQuery<Incident[]>('incidents');
