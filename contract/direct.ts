import { defineQuery, defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import { failureCode } from './failures';
import { incidentSchema } from './incident';
import { receiptSchema } from './receipt';
import { exitSchema, limitsSchema, observationSchema, usageSchema } from './run';
import { request } from './task';
import { id, instant, line, text } from './text';

/** Bytes of an instruction: it is one bounded piece of work, and it stays in the history. */
const INSTRUCTION_BYTES = 64 * 1024;
/** Furthest deadline, in milliseconds after the start: no activity is followed for longer. */
const DEADLINE_MS = 30 * 86_400_000;

export const PERMISSION_MODES = ['read-only', 'workspace-write', 'full-access'] as const;
const permissionMode = z.enum(PERMISSION_MODES, { error: `must be one of ${PERMISSION_MODES.join(', ')}` });
export type PermissionMode = z.infer<typeof permissionMode>;

/** Codex's sandbox for each permission mode; approvals are never asked, because nobody could answer (DT-11). */
export const SANDBOX_OF = {
  'read-only': 'read-only',
  'workspace-write': 'workspace-write',
  'full-access': 'danger-full-access',
} as const satisfies Record<PermissionMode, string>;

export const OPERATIONS = ['implement', 'review', 'explain', 'test'] as const;
const operation = z.enum(OPERATIONS, { error: `must be one of ${OPERATIONS.join(', ')}` });

export const DIRECT_STATUSES = [
  'queued',
  'running',
  'stopping',
  'stopped',
  'completed',
  'failed',
  'recovery_required',
] as const;
const directStatus = z.enum(DIRECT_STATUSES);

/** What a caller asks for; none of it ever changes. */
const content = {
  id,
  tenantId: id,
  /** The machine that has the repository. */
  hostId: id,
  instruction: text(INSTRUCTION_BYTES).refine((value) => value.trim() !== '', { error: 'is blank' }),
  /** Absolute path of the repository: the provider works in it itself, and in no worktree (DT-8). */
  repositoryPath: text(4_096).refine((path) => path.startsWith('/'), { error: 'is no absolute path' }),
  permissionMode,
  operation: operation.default('implement'),
  /** Null: the provider's own default. */
  model: line(200).nullable().default(null),
  limits: limitsSchema.prefault({}),
  /** When it is stopped at the latest, whoever adopts it (DT-10); null: by its limits alone. */
  deadlineAt: instant.nullable().default(null),
};

const fromStart = ({ deadlineAt, createdAt }: { deadlineAt: string | null; createdAt: string }): number =>
  deadlineAt === null ? 1 : Date.parse(deadlineAt) - Date.parse(createdAt);

/** A new direct task: one instruction, for one invocation of a provider. */
export const newDirectTaskSchema = z
  .strictObject({
    ...content,
    /** Said on purpose by who wants `full-access`. */
    allowFullAccess: z.boolean().default(false),
    actor: line(200).default('operator'),
    createdAt: instant,
  })
  .refine(({ permissionMode: mode, allowFullAccess }) => mode !== 'full-access' || allowFullAccess, {
    path: ['permissionMode'],
    error: 'full-access has to be allowed on purpose (--full-access)',
  })
  .refine((given) => fromStart(given) <= DEADLINE_MS, { path: ['deadlineAt'], error: 'is more than 30 days ahead' });
export type NewDirectTask = z.infer<typeof newDirectTaskSchema>;

/** Whether the deadline was over before the start (DT-13). */
export const isDeadlinePassed = (given: { deadlineAt: string | null; createdAt: string }): boolean =>
  fromStart(given) <= 0;

const stopSchema = z.strictObject({
  at: instant,
  actor: z.string(),
  reason: z.string(),
  /** A deadline stops as a user does, and says another end (DT-13). */
  cause: z.enum(['user', 'deadline']),
});

/** A bookkeeping failure: a second fact beside the status, which it never changes (RQ-7, RQ-8). */
const recoveryNoteSchema = z.strictObject({ code: failureCode, at: instant, evidence: z.array(z.string()) });

/** The snapshot of a direct task. */
export const directTaskSchema = z.strictObject({
  ...content,
  backend: z.literal('codex'),
  actor: z.string(),
  /** Who the provider runs as. The account is whatever its environment has: nobody verified it (DT-9). */
  identity: z.strictObject({
    provider: z.literal('codex'),
    session: id,
    account: z.literal('inherited-provider-environment'),
    origin: z.literal('perdure-direct'),
    worktree: z.string(),
  }),
  status: directStatus,
  /** Provider invocations made: counted before one is asked for, taken back only on proof that none was started. */
  invocationCount: z.int().min(0).max(1),
  /** The attempt on its host, once one was asked for; `alias` is its name in receipts. */
  handle: z.strictObject({ taskId: id, hostId: id, attemptId: z.uuid(), alias: z.string() }).nullable(),
  stop: stopSchema.nullable(),
  result: observationSchema.nullable(),
  code: failureCode.nullable(),
  error: z.string().nullable(),
  usage: usageSchema.nullable(),
  exit: exitSchema.nullable(),
  threadId: z.string().nullable(),
  codexHome: z.string().nullable(),
  cliVersion: z.string().nullable(),
  /** Provider processes that the runner's own ledger counts. */
  spawns: z.int(),
  /** Processes that the run left behind and the runner ended. */
  strays: z.int(),
  warnings: z.array(z.string()),
  receipt: receiptSchema.nullable(),
  recoveryNote: recoveryNoteSchema.nullable(),
  incidents: z.array(incidentSchema),
  decision: z
    .strictObject({ decision: z.enum(['accept', 'abandon']), actor: z.string(), note: z.string().nullable() })
    .nullable(),
  createdAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  updatedAt: instant,
});
export type DirectTask = z.infer<typeof directTaskSchema>;

/** Input of a run: a new task, or the snapshot that the run before carried over. */
export const directInputSchema = z.union([
  z.strictObject({ carried: directTaskSchema }),
  z.strictObject({ create: newDirectTaskSchema }),
]);
export type DirectInput = z.input<typeof directInputSchema>;

export const stopDirectSchema = z.strictObject({ ...request, reason: text(1_000).optional() });

export const decideDirectSchema = z.strictObject({
  ...request,
  /** `accept`: a person says that the work is done; `abandon`: it failed. */
  decision: z.enum(['accept', 'abandon']),
  note: text(4_000).optional(),
});

/** What a request did, and where the task stands now. */
export interface DirectAnswer {
  readonly success: true;
  readonly taskId: string;
  readonly status: DirectTask['status'];
  /** False when it left the task as it was. */
  readonly changed: boolean;
}

export const directQuery = defineQuery<DirectTask>('direct');
export const stopDirectUpdate = defineUpdate<DirectAnswer, [z.input<typeof stopDirectSchema>]>('stop');
export const decideDirectUpdate = defineUpdate<DirectAnswer, [z.input<typeof decideDirectSchema>]>('decide');
