import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import { superviseSchema } from './delivery';
import { limitsSchema, policySchema } from './run';
import { request, type Task } from './task';
import { id, instant, line } from './text';

/** Tasks of a project that run at once when nobody said otherwise. */
const DEFAULT_LIMIT = 4;
/** Tasks that wait in a project's queue at most; the hook refuses more. */
export const QUEUE_LENGTH = 5_000;
/** Bytes of a queue, well below what one run may hand to the next. */
export const QUEUE_BYTES = 1_300_000;

/** The project whose queue executes a task, decided on the record each time (MA1); null when callers do. */
export function projectOf({ metadata }: Pick<Task, 'metadata'>): string | null {
  const named = id.safeParse(metadata.projectId);
  return named.success ? named.data : null;
}

/** How a queued task shall be run: what its dispatch said, defaults left out because queues are long. */
const queueOrderSchema = z.strictObject({
  agentId: id,
  actor: line(200),
  policy: policySchema.optional(),
  limits: limitsSchema.optional(),
  replaceThread: z.boolean().optional(),
  supervise: superviseSchema.optional(),
  onUsageLimit: z.enum(['wait', 'fail']).optional(),
});

/** A task that waits for its turn. */
export const queuedTaskSchema = z.strictObject({
  taskId: id,
  priority: z.enum(['low', 'medium', 'high']),
  /** When the task was created: the older one goes first. */
  createdAt: instant,
  /** The task's last attempt when it was dispatched: a dispatch that knows of a run has seen its end. */
  lastAttemptId: z.uuid().nullable().default(null),
  order: queueOrderSchema,
});
export type QueuedTask = z.infer<typeof queuedTaskSchema>;

/** A task whose run is being asked for, with the id of the request: asking again comes to the same run. */
const startingTaskSchema = queuedTaskSchema.extend({ requestId: z.string() });
export type StartingTask = z.infer<typeof startingTaskSchema>;

/** A task that holds one of the project's slots. */
const runningTaskSchema = z.strictObject({ taskId: id, attemptId: z.uuid(), since: instant });
export type RunningTask = z.infer<typeof runningTaskSchema>;

/** A task that left the queue without a run, and why. */
const refusedTaskSchema = z.strictObject({ taskId: id, code: z.string(), error: z.string(), at: instant });

/** Everything that a project's queue knows. */
export const projectSchema = z.strictObject({
  tenantId: id,
  id,
  limit: z.int().min(1).max(1_000).default(DEFAULT_LIMIT),
  isPaused: z.boolean().default(false),
  queue: z.array(queuedTaskSchema).default([]),
  /** Tasks whose run is being asked for: each holds a slot. */
  starting: z.array(startingTaskSchema).default([]),
  running: z.array(runningTaskSchema).default([]),
  /** The last ones. */
  refused: z.array(refusedTaskSchema).default([]),
  /** Starts so far; part of the request id of the next one. */
  serial: z.int().default(0),
  /** Whether what an earlier queue knew is in here. */
  isRecovered: z.boolean().default(false),
  /** First run of this queue; the other part of it. */
  origin: z.string().default(''),
});
export type Project = z.infer<typeof projectSchema>;

/** Input of the workflow: a project that begins, or what the run before carried over. */
export const projectInputSchema = z.union([
  z.strictObject({ carried: projectSchema }),
  z.strictObject({ tenantId: id, projectId: id }),
]);
export type ProjectInput = z.input<typeof projectInputSchema>;

export const limitSchema = z.strictObject({ ...request, limit: z.int().min(1).max(1_000) });
export const pauseSchema = z.strictObject(request);

/** Whether there is room in the queue, and how many tasks wait in it: the whole of it is long. */
export const roomSchema = z.object({ isFull: z.boolean(), length: z.int() });
export type Room = z.infer<typeof roomSchema>;
export const roomQuery = defineQuery<Room>('room');

export const projectQuery = defineQuery<Project>('project');
/** A dispatch of a managed task: it wants its turn. */
export const taskDispatchedSignal = defineSignal<[QueuedTask]>('taskDispatched');
/** The run of a managed task has settled: its slot is free. */
export const runSettledSignal = defineSignal<[{ taskId: string; attemptId: string }]>('runSettled');
export const setLimitUpdate = defineUpdate<Project, [z.input<typeof limitSchema>]>('setLimit');
export const pauseUpdate = defineUpdate<Project, [z.input<typeof pauseSchema>]>('pause');
export const resumeUpdate = defineUpdate<Project, [z.input<typeof pauseSchema>]>('resume');

export const withdrawSchema = z.strictObject({ ...request, taskId: id });
/** Takes a task out of the queue; false when it does not wait there. */
export const withdrawUpdate = defineUpdate<{ withdrawn: boolean }, [z.input<typeof withdrawSchema>]>('withdraw');

/** What came of the start of a queued task. */
export type ManagedStart =
  | { readonly kind: 'started'; readonly attemptId: string }
  /** It comes back by itself when what it depends on has completed. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'refused'; readonly code: string; readonly error: string };
