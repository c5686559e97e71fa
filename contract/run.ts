import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { z } from 'zod';
import { deliverySchema, superviseSchema } from './delivery';
import { failureCode } from './failures';
import { incidentSchema } from './incident';
import { NO_RELATIONS, relationsSchema } from './relation';
import { receiptOrderSchema, receiptSchema } from './receipt';
import { taskSchema, request } from './task';
import { toolsSchema } from './tools';
import { id, instant, line, text, threadId } from './text';

/** Bytes of an observation that a record keeps; the whole of a longer one stays with the run (SR17). */
export const OBSERVATION_BYTES = 32 * 1024;

export const sandboxMode = z.enum(['read-only', 'workspace-write', 'danger-full-access']);

/** Limits of one attempt, in milliseconds and bytes. */
export const limitsSchema = z.strictObject({
  timeMs: z
    .int()
    .min(1_000)
    .max(7 * 86_400_000)
    .default(60 * 60_000),
  inactivityMs: z
    .int()
    .min(1_000)
    .max(86_400_000)
    .default(5 * 60_000),
  startMs: z
    .int()
    .min(1_000)
    .max(86_400_000)
    .default(2 * 60_000),
  outputBytes: z
    .int()
    .min(1_024)
    .max(64 * 1024 ** 3)
    .default(1024 ** 3),
});
export type Limits = z.infer<typeof limitsSchema>;

/** What an attempt may do; passed to the provider again on every resume. */
export const policySchema = z.strictObject({
  sandbox: sandboxMode.default('workspace-write'),
  model: line(200).nullable().default(null),
});
export type Policy = z.infer<typeof policySchema>;

/** Token counts of a thread up to now, as the provider reports them. */
export const usageSchema = z.object({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
});
export type Usage = z.infer<typeof usageSchema>;

/** Why this attempt exists; it decides the thread and the first line of the message. */
export const runMode = z.enum(['start', 'resume', 'retry', 'reopen']);
export type RunMode = z.infer<typeof runMode>;

export const observationSchema = z.strictObject({
  text: z.string(),
  /** Bytes of the whole text; more than `text` holds when it was cut. */
  bytes: z.int(),
  /** Where the whole text is, when it was cut. */
  ref: z.string().optional(),
});
export type Observation = z.infer<typeof observationSchema>;

export const exitSchema = z.strictObject({
  code: z.int().nullable(),
  signal: z.string().nullable(),
  /** Whether the runner had to go beyond the first signal. */
  forced: z.boolean(),
});
export type Exit = z.infer<typeof exitSchema>;

export const runOutcome = z.enum(['completed', 'failed', 'stopped', 'interrupted_owner']);
export type RunOutcome = z.infer<typeof runOutcome>;

/** What a host found of one criterion: known fields only, because a host may be newer. */
export const criterionResultSchema = z.object({
  command: z.string(),
  met: z.boolean(),
  exitCode: z.int().nullable(),
  /** Last bytes of what the command printed, cleaned of control characters. */
  output: z.string(),
  /** Digest of all that it printed, `sha256:` and hex; absent where it could not run. */
  digest: z.string().optional(),
});
export type CriterionResult = z.infer<typeof criterionResultSchema>;

/** One try to make a provider advance a task: at most one process, ever. */
export const attemptSchema = z.strictObject({
  attemptId: z.uuid(),
  number: z.int(),
  mode: runMode,
  agentId: id,
  provider: z.literal('codex'),
  hostId: id,
  actor: z.string(),
  policy: policySchema,
  limits: limitsSchema,
  /** Who records the outcome of a successful run: the caller, or the engine by the acceptance criteria. */
  completion: z.enum(['caller', 'criteria']),
  /** The project whose queue started it; absent when a caller did. */
  managedBy: id.optional(),
  threadId: z.string().nullable(),
  /** Home of the thread on its host, as the provider had it. */
  codexHome: z.string().nullable(),
  workspacePath: z.string().nullable(),
  cliVersion: z.string().nullable(),
  requestedAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  /** When the whole of it was recorded: result, receipt and, where asked for, criteria. */
  settledAt: instant.nullable(),
  outcome: runOutcome.nullable(),
  code: failureCode.nullable(),
  error: z.string().nullable(),
  exit: exitSchema.nullable(),
  /** Provider processes that were ever started for this attempt, counted by the runner's own ledger. */
  spawns: z.int(),
  /** Milliseconds that the provider ran, without those that its machine slept, where the host can say. */
  ranMs: z.int().optional(),
  /** Processes that the run left behind and the runner ended. */
  strays: z.int(),
  observation: observationSchema.nullable(),
  /** Tokens of this attempt alone. */
  usage: usageSchema.nullable(),
  /** Running total of the thread at the end of this attempt. */
  threadUsage: usageSchema.nullable(),
  executionResultId: z.string().nullable(),
  criteria: z.array(criterionResultSchema),
  receipts: z.array(receiptSchema),
  warnings: z.array(z.string()),
  /** The attempt that the dispatch began with, where this one goes on with it. */
  firstAttemptId: z.uuid().optional(),
  /** What a supervised attempt is for; absent where a dispatch asked for one attempt. */
  purpose: z.enum(['work', 'review']).optional(),
  /** What a usage limit does to it; absent means that it is waited for. */
  onUsageLimit: z.enum(['wait', 'fail']).optional(),
  /** What became of its checkpoint: `continue`, `blocked` or `done`, or why it was not accepted. */
  checkpoint: z.string().optional(),
  /** Tools that a supervised attempt used. */
  tools: toolsSchema.optional(),
  /** When the account's usage limit ends, where that ended the attempt and was told. */
  resetsAt: instant.nullable().optional(),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const dispatchSchema = z.strictObject({
  ...request,
  agentId: id,
  policy: policySchema.prefault({}),
  limits: limitsSchema.prefault({}),
  completion: z.enum(['caller', 'criteria']).default('caller'),
  /** A fresh thread, where the stored one would be continued. */
  replaceThread: z.boolean().optional(),
  /** Waits for dependencies that are not completed, instead of being refused. */
  whenReady: z.boolean().optional(),
  /** Said by a project's queue for the tasks that it manages; every other dispatch of them goes to the queue. */
  managedBy: id.optional(),
  /** Attempts in a row until the acceptance criteria are proven, instead of one. */
  supervise: superviseSchema.optional(),
  /** What a usage limit of the account does: wait for its end (the default), or fail. */
  onUsageLimit: z.enum(['wait', 'fail']).optional(),
});
export type Dispatch = z.input<typeof dispatchSchema>;

export const stopSchema = z.strictObject({ ...request, reason: text(1_000).optional() });
export type Stop = z.input<typeof stopSchema>;

export const reopenSchema = z.strictObject({
  ...request,
  threadId: z.string().regex(threadId, { error: 'is no thread id (a UUID)' }).optional(),
  replaceThread: z.boolean().default(false),
  /** Runs the task at once, in its thread or in a fresh one. */
  dispatch: dispatchSchema.optional(),
});
export type Reopen = z.input<typeof reopenSchema>;

/** How the actor of a request begins that a run sends: its attempt id follows. */
export const RUN_ACTOR = 'run:';

/** What a remembered request was answered, so that repeating it changes nothing (GN10). */
const requestEntrySchema = z.strictObject({ id: z.string(), digest: z.string(), answer: z.json() });

/** Versions of the rules of a chain; a worker that does not know one leaves the run to newer workers. */
export const rulesVersion = z.union([z.literal(1), z.literal(2), z.literal(3), z.literal(4)]);
export const RULES = 4;

/** Everything that a phase hands to the next one: the task, its attempts and what is still to be done. */
export const carriedSchema = z.strictObject({
  /**
   * The rules that the run plays by: those of the code that wrote its input, so that it replays alike on newer code.
   * 2: project queues, children cancelled with their parent, notes kept until a run was given them.
   * 3: what is left of a lost attempt is saved with its incident.
   * 4: a stop that its host does not confirm in time is an incident; no receipt is asked for what never passed the fence;
   *    a report is checked as it is kept; a completed run whose host names a code has failed;
   *    notes are for the worker, and no review is given them.
   */
  version: rulesVersion,
  task: taskSchema,
  attempts: z.array(attemptSchema),
  incidents: z.array(incidentSchema),
  /** Older incidents that the record keeps no more; they are in the history of their phases. */
  droppedIncidents: z.int().default(0),
  requests: z.array(requestEntrySchema),
  /** What the next phase is for; null at rest. */
  intent: z
    .discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('run'),
        attemptId: z.uuid(),
        /** Whether a host was asked already, by a run of this phase that rolled over. */
        isHandedOver: z.boolean(),
        /** It does not begin before then: a back-off, or a usage limit. */
        notBefore: instant.nullable().default(null),
        /** What the dispatch found out about other tasks; the worker is told. */
        relations: relationsSchema.default(NO_RELATIONS),
      }),
      z.strictObject({
        kind: z.literal('reopen'),
        reopen: reopenSchema,
        /** Set when a dispatch asked for the reopening: the attempt that follows it. */
        then: z
          .strictObject({
            dispatch: dispatchSchema,
            attemptId: z.uuid(),
            relations: relationsSchema.default(NO_RELATIONS),
          })
          .nullable(),
      }),
    ])
    .nullable(),
  /** A stop that was accepted and that no attempt has answered yet. */
  stop: z.strictObject({ at: instant, actor: z.string(), reason: z.string() }).nullable(),
  /** How much was moved to the store, because records stay small. */
  archived: z.strictObject({ activities: z.int(), attempts: z.int() }),
  /** A dispatch that was accepted and is made when the last dependency completes. */
  awaiting: dispatchSchema.nullable().default(null),
  /** Workflows that want to hear when this task completes. */
  dependants: z.array(z.string()).default([]),
  /** The children of a cancelled task have not been told yet (PD13). */
  owesCancel: z.boolean().default(false),
  /** The supervised delivery of the task, once a dispatch asked for one. */
  delivery: deliverySchema.nullable().default(null),
  /** Receipts of stored results that could not be stored themselves (RQ-11). */
  owedReceipts: z.array(receiptOrderSchema).optional(),
});
export type Carried = z.infer<typeof carriedSchema>;

/** What the caller of a dispatch gets once the worker has settled (SR). */
export interface SettledResult {
  readonly taskId: string;
  readonly agentId: string;
  readonly threadId: string | null;
  readonly observation?: string;
  readonly executionResultId?: string;
  readonly taskStatus?: string;
  readonly warnings?: string[];
}

/** A dispatch that claimed the task for a run. */
export interface StartedDispatch {
  readonly success: true;
  readonly taskId: string;
  readonly attemptId: string;
  readonly mode: RunMode;
}

/** A dispatch that a project's queue took over (MA2, MA9): it is no result, and there is none yet. */
export interface ManagedDispatch {
  readonly success: true;
  readonly taskId: string;
  readonly managed: true;
  readonly projectId: string;
}

/** A dispatch that is made when these tasks have completed. */
export interface WaitingDispatch {
  readonly success: true;
  readonly taskId: string;
  readonly waitsFor: string[];
}

export type DispatchAnswer = StartedDispatch | ManagedDispatch | WaitingDispatch;

export const dispatchUpdate = defineUpdate<DispatchAnswer, [Dispatch]>('dispatch');
export const stopUpdate = defineUpdate<{ success: true; taskId: string; stopping: boolean }, [Stop]>('stop');
export const reopenUpdate = defineUpdate<{ success: true; taskId: string; attemptId?: string }, [Reopen]>('reopen');
export const attemptsQuery = defineQuery<Attempt[]>('attempts');
/** Everything that a phase holds; a chain that was ended from outside begins again from it. */
export const carriedQuery = defineQuery<Carried>('carried');
/** New workers are out: the phase goes on as a new run, which takes their code. */
export const workersUpgradedSignal = defineSignal('workersUpgraded');

/** The attempt that a dispatch has come to: the last of those that went on with it. */
export const attemptOf = (attempts: readonly Attempt[], firstId: string): Attempt | undefined =>
  attempts.findLast(({ attemptId, firstAttemptId }) => attemptId === firstId || firstAttemptId === firstId);
