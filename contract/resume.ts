import { defineSignal } from '@temporalio/workflow';
import { z } from 'zod';
import type { RunReport } from './activities';
import { reportKind } from './checkpoint';
import { failureCode } from './failures';
import { exitSchema, limitsSchema, observationSchema, policySchema, runOutcome, usageSchema } from './run';
import { id, instant } from './text';
import { toolsSchema } from './tools';

/** Schema of the order that a host gets for one attempt (`RunOrder`). */
export const runOrderSchema = z.strictObject({
  attemptId: z.uuid(),
  task: z.strictObject({ tenantId: id, taskId: id }),
  mode: z.enum(['start', 'resume']),
  threadId: z.string().nullable(),
  codexHome: z.string().nullable(),
  message: z.string(),
  repository: z.string().nullable(),
  workspace: z.literal('repository').optional(),
  deadlineAt: instant.optional(),
  policy: policySchema,
  limits: limitsSchema,
  report: reportKind.optional(),
  ignoresUsageLimit: z.literal(true).exactOptional(),
});

/** Reads a host's report: known fields only, because a host may be newer or older; null when it is none. */
export function readReport(given: unknown, at: string): RunReport | null {
  const moment = z.iso.datetime();
  const schema = z.object({
    outcome: runOutcome,
    code: failureCode.nullable().catch('RUN_FAILED'),
    error: z.string().nullable().catch(null),
    threadId: z.string().nullable().catch(null),
    codexHome: z.string().nullable().catch(null),
    workspacePath: z.string().nullable().catch(null),
    cliVersion: z.string().nullable().catch(null),
    observation: observationSchema.nullable().catch(null),
    threadUsage: usageSchema.nullable().catch(null),
    exit: exitSchema.nullable().catch(null),
    startedAt: moment.nullable().catch(null),
    endedAt: moment.catch(at),
    spawns: z.int().catch(0),
    strays: z.int().catch(0),
    ranMs: z.int().min(0).optional().catch(undefined),
    warnings: z.array(z.string()).catch([]),
    tools: toolsSchema.optional().catch(undefined),
    isProbed: z.boolean().optional().catch(undefined),
    resetsAt: moment.nullable().optional().catch(null),
    workspace: z.string().nullable().optional().catch(null),
    workspaceBefore: z.string().nullable().optional().catch(null),
  });
  const parsed = schema.safeParse(given);
  return parsed.success ? parsed.data : null;
}

/** What `resumeCodex` is asked: the order, and the host that has the thread. */
export const resumeInputSchema = z.strictObject({ order: runOrderSchema, hostId: id });
export type ResumeInput = z.input<typeof resumeInputSchema>;

/** The run's report, or word that it was let go of for the parent's next run to adopt. */
export type ResumeResult = { detached: true } | { detached: false; report: RunReport };

/** The parent's run is about to end while the provider goes on: let go of it. */
export const rolledOverSignal = defineSignal('rolledOver');
