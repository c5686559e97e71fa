import { defineQuery, defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import { id, instant, line, text, threadId, utf8Length } from './text';

/** Bounds of a task's own text, in characters or UTF-8 bytes. */
export const TITLE_CHARACTERS = 1_000;
export const DESCRIPTION_BYTES = 256 * 1024;
const OUTCOME_BYTES = 16 * 1024;
const NOTE_BYTES = 16 * 1024;
/** Bytes of metadata and of context, as JSON. */
export const STRUCTURE_BYTES = 16 * 1024;
/** Bytes of a record's content in JSON: with its history of the task it stays below the server's 2 MB of a payload. */
export const RECORD_BYTES = 1_000_000;

/** Bytes that a record's content takes in a payload; its activities are bounded by themselves. */
export function recordLength(task: object): number {
  return utf8Length(JSON.stringify({ ...task, activities: [] }));
}

export const taskStatus = z.enum([
  'pending',
  'in_progress',
  'review',
  'failed',
  'interrupted',
  'completed',
  'cancelled',
]);
export type TaskStatus = z.infer<typeof taskStatus>;

/** Levels of nesting in free data: every phase parses it again, and no stack may end there. */
const STRUCTURE_LEVELS = 32;

const partsOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];

const isPoisoned = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__');

/**
 * Whether a value is data that comes back as it was: not too deep, so in no circle, and without a key that would vanish.
 * It looks without recursion, because it looks before anything recursive does.
 */
function isFreeData(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > STRUCTURE_LEVELS + 1 || level.some(isPoisoned)) return false;
    level = level.flatMap(partsOf);
  }
  return true;
}

type Json = z.infer<ReturnType<typeof z.json>>;

/** Free structured data that stays small in every history that carries it. */
const structure = z
  .custom<Record<string, Json>>(isFreeData, {
    error: `nests deeper than ${String(STRUCTURE_LEVELS)} levels, or has a key __proto__`,
  })
  .pipe(z.record(z.string(), z.json()))
  .refine((value) => JSON.stringify(value).length <= STRUCTURE_BYTES, {
    error: `is longer than ${String(STRUCTURE_BYTES)} bytes`,
  });

/** One thing that happened to a task; appended, never edited. */
export const activityEntrySchema = z.strictObject({
  id: z.string(),
  at: instant,
  actor: z.string(),
  summary: text(NOTE_BYTES),
  detail: z.looseObject({ type: z.string() }),
  executionResultId: z.string().optional(),
});
export type ActivityEntry = z.infer<typeof activityEntrySchema>;

/** Where a task's work happens: a git repository on one host, or a scratch repository made for the task. */
export const workspaceSchema = z.strictObject({
  hostId: id,
  /** Absolute path of the repository; null means a scratch repository in the host's home. */
  path: z.string().nullable(),
});

/** Commands that must exit 0 in the workspace before the product itself calls a task completed. */
export const acceptance = z.array(line(4_000)).max(20);

const content = {
  title: line(TITLE_CHARACTERS),
  description: text(DESCRIPTION_BYTES).optional(),
  priority: z.enum(['low', 'medium', 'high']),
  dueDate: z.iso.datetime({ offset: true }).optional(),
  metadata: structure,
  parentId: id.optional(),
  sourceId: line(500).optional(),
  dependencies: z.array(id).max(100),
  requireReview: z.boolean(),
  files: z.array(z.strictObject({ path: line(4_000), name: line(500).optional() })).max(100),
  acceptance,
};

/** The durable record of one piece of work. */
export const taskSchema = z.strictObject({
  ...content,
  id,
  tenantId: id,
  status: taskStatus,
  /** Since when the status is what it is. */
  statusSince: instant,
  createdAt: instant,
  updatedAt: instant,
  ownerType: z.enum(['agent', 'user']),
  ownerId: id,
  workspace: workspaceSchema,
  context: structure,
  result: text(OUTCOME_BYTES).nullable(),
  failureReason: text(OUTCOME_BYTES).nullable(),
  activities: z.array(activityEntrySchema),
});
export type Task = z.infer<typeof taskSchema>;

/** What a caller says to create a task; everything else has a default. A status is coerced to pending (TR1). */
export const newTaskSchema = z
  .strictObject({
    ...content,
    id,
    tenantId: id,
    priority: content.priority.default('medium'),
    metadata: content.metadata.default({}),
    dependencies: content.dependencies.default([]),
    requireReview: content.requireReview.default(false),
    files: content.files.default([]),
    acceptance: content.acceptance.default([]),
    status: taskStatus.optional(),
    ownerType: z.enum(['agent', 'user']).default('agent'),
    ownerId: id,
    workspace: workspaceSchema,
    context: structure.default({}),
    actor: line(200),
    createdAt: instant,
  })
  .refine((task) => recordLength(task) <= RECORD_BYTES, {
    error: `the task takes more than ${String(RECORD_BYTES)} bytes`,
  });
export type NewTask = z.input<typeof newTaskSchema>;

/** What every request carries: who asks, and the id that makes repeating it harmless (GN10). */
export const request = { requestId: line(200).optional(), actor: line(200).default('operator') };

/** Content fields that an update may change (TR7); a status among them is refused (TS11). */
export const taskUpdateSchema = z.strictObject({
  ...request,
  title: content.title.optional(),
  description: content.description,
  priority: content.priority.optional(),
  dueDate: content.dueDate,
  metadata: structure.optional(),
  context: structure.optional(),
  ownerId: id.optional(),
  parentId: content.parentId,
  sourceId: content.sourceId,
  dependencies: content.dependencies.optional(),
  requireReview: z.boolean().optional(),
  files: content.files.optional(),
  acceptance: acceptance.optional(),
  result: text(OUTCOME_BYTES).optional(),
  failureReason: text(OUTCOME_BYTES).optional(),
  executionResultId: line(200).optional(),
});
export type TaskUpdate = z.input<typeof taskUpdateSchema>;

export const statusChangeSchema = z.strictObject({
  ...request,
  status: taskStatus,
  result: text(OUTCOME_BYTES).optional(),
  failureReason: text(OUTCOME_BYTES).optional(),
  summary: text(NOTE_BYTES).optional(),
  reason: line(200).optional(),
  executionResultId: line(200).optional(),
  /** With `in_progress`: the run that claims its own task, and the thread that it works in (TS4). */
  runId: z.uuid().optional(),
  threadId: z.string().regex(threadId, { error: 'is no thread id (a UUID)' }).optional(),
});
export type StatusChange = z.input<typeof statusChangeSchema>;

export const noteSchema = z.strictObject({
  ...request,
  summary: text(NOTE_BYTES).refine((value) => value.trim() !== '', { error: 'is blank' }),
  executionResultId: line(200).optional(),
});
export type Note = z.input<typeof noteSchema>;

/** Answer of an update that changed a task. */
export interface TaskAnswer {
  readonly success: true;
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly warnings?: string[];
}

export const taskQuery = defineQuery<Task>('task');
export const whyQuery = defineQuery<Why>('why');
export const updateUpdate = defineUpdate<TaskAnswer, [TaskUpdate]>('update');
export const setStatusUpdate = defineUpdate<TaskAnswer, [StatusChange]>('setStatus');
export const addActivityUpdate = defineUpdate<TaskAnswer, [Note]>('addActivity');

/** What a task does or waits for: one sentence, and the facts behind it. */
export interface Why {
  readonly sentence: string;
  readonly phase: string;
  readonly status: TaskStatus;
  readonly since: string;
  readonly attention: string;
  readonly next: string;
  readonly facts: string[];
  /** The run that executes the task, or is about to; null when none does. */
  readonly executor: Executor | null;
}

/** What executes a task: one attempt on one host. */
export interface Executor {
  readonly attemptId: string;
  readonly hostId: string;
  /** Null until it is known. */
  readonly threadId: string | null;
  /** When its provider was started; null until that is known. */
  readonly startedAt: string | null;
}

/** The executor that an attempt is until it has ended. */
export function executorOf(attempt: (Executor & { readonly outcome: string | null }) | undefined): Executor | null {
  if (attempt === undefined || attempt.outcome !== null) return null;
  const { attemptId, hostId, threadId, startedAt } = attempt;
  return { attemptId, hostId, threadId, startedAt };
}
