import type { ReportKind } from './checkpoint';
import type { Failure, FailureCode, Outcome } from './failures';
import type { Snapshot } from './incident';
import type { TaskKey } from './names';
import type { JudgedOrphan, OrphanCandidate } from './orphan';
import type { ManagedStart, Project, QueuedTask, RunningTask } from './project';
import type { Relations } from './relation';
import type { Receipt, ReceiptOrder } from './receipt';
import type { AcknowledgeReceipts, Delivery, ListReceipts, ReceiptList, ResendReceipts, Resent } from './receipt-store';
import type { Attempt, CriterionResult, Exit, Limits, Observation, Policy, RunOutcome, Usage } from './run';
import type { ActivityEntry } from './task';
import type { Tools } from './tools';

/** What a host is asked to run: everything about one attempt, and nothing secret. */
export interface RunOrder {
  readonly attemptId: string;
  readonly task: TaskKey;
  /** `start` begins a thread; `resume` goes on in exactly `threadId`. */
  readonly mode: 'start' | 'resume';
  readonly threadId: string | null;
  /** The home that `threadId` lives in, or null for the host's own. */
  readonly codexHome: string | null;
  readonly message: string;
  /** Absolute path of the task's repository, or null for a scratch one. */
  readonly repository: string | null;
  /** `repository`: it works in the repository itself; left out: in the task's own worktree of it. */
  readonly workspace?: 'repository' | undefined;
  /** When the host ends it at the latest, by its own wall clock, beside `limits.timeMs`. */
  readonly deadlineAt?: string | undefined;
  readonly policy: Policy;
  readonly limits: Limits;
  /** What the last message has to be, where it is more than words. */
  readonly report?: ReportKind | undefined;
  /** Starts although the account is known to be at its usage limit. */
  readonly ignoresUsageLimit?: true;
}

/** What became of an attempt; every end of a provider is a value, never an exception. */
export interface RunReport {
  readonly outcome: RunOutcome;
  readonly code: FailureCode | null;
  readonly error: string | null;
  readonly threadId: string | null;
  readonly codexHome: string | null;
  readonly workspacePath: string | null;
  readonly cliVersion: string | null;
  readonly observation: Observation | null;
  /** Running total of the thread, or null when the provider reported none. */
  readonly threadUsage: Usage | null;
  readonly exit: Exit | null;
  readonly startedAt: string | null;
  readonly endedAt: string;
  readonly spawns: number;
  readonly strays: number;
  /** Milliseconds that the provider ran, without those that the machine slept; absent when its host cannot say. */
  readonly ranMs?: number | undefined;
  readonly warnings: string[];
  /** Tools that a run used which was asked for a report. */
  readonly tools?: Tools | undefined;
  /** Whether its host has proven the executor gone, where that died without a result. */
  readonly isProbed?: boolean | undefined;
  /** When the account's usage limit ends, where that ended the run (`usage_limit`) and was told. */
  readonly resetsAt?: string | null | undefined;
  /** A digest of what the workspace held at the end: commit, changes, new files; null when it could not be made. */
  readonly workspace?: string | null | undefined;
  /** The same before a review began. */
  readonly workspaceBefore?: string | null | undefined;
}

/** Liveness of an attempt's executor: unknown is never dead. */
export type Liveness = 'alive' | 'dead' | 'unknown';

export interface ProbeReport {
  readonly liveness: Liveness;
  /** False when the host has never had the attempt. */
  readonly isKnown?: boolean;
  /** Sentences that say what was looked at and what it showed. */
  readonly evidence: string[];
}

export interface StopOrder {
  readonly attemptId: string;
  readonly reason: 'user' | 'cancelled';
}

/** Runs on the host's queue. */
export interface ProviderActivities {
  runProvider(order: RunOrder): Promise<RunReport>;
  /** Makes the stop durable on the host; returns once the attempt has ended, or at once when nothing ran. */
  stopRun(order: StopOrder): Promise<{ ended: boolean }>;
  /** Saves what is left of an attempt whose executor was lost: its last words and what it changed. */
  saveEvidence(order: { attemptId: string; task: TaskKey }): Promise<Snapshot>;
  /** Removes the output of attempts whose receipts are gone; what the fence needs of them stays. */
  removeRuns(order: { attemptIds: string[] }): Promise<{ removed: number }>;
  probeRun(order: { attemptId: string; threadId: string | null; codexHome: string | null }): Promise<ProbeReport>;
}

/** Runs on the host's queue. */
export interface SandboxActivities {
  checkCriteria(order: { task: TaskKey; repository: string | null; commands: string[] }): Promise<CriterionResult[]>;
}

/** Runs on the orchestrator's queue. */
export interface TaskActivities {
  /** Looks a task's parent and dependencies up; tasks of other tenants are as if they were not there. */
  readRelations(order: { tenantId: string; parentId: string | null; dependencies: string[] }): Promise<Relations>;
  /** Says what is wrong with the relations that a task would have, or null. */
  checkRelations(order: { task: TaskKey; parentId: string | null; dependencies: string[] }): Promise<Failure | null>;
  /** Cancels the pending children of a cancelled task and asks the running ones to stop (PD13). */
  cancelChildren(order: { task: TaskKey; actor: string }): Promise<void>;
}

/** Runs on the orchestrator's queue: what a task and its project's queue tell each other. */
export interface ProjectActivities {
  /** Tells a project's queue that a task wants its turn; begins the queue where there is none (signal-with-start). */
  enqueueTask(order: { task: TaskKey; projectId: string; queued: QueuedTask }): Promise<void>;
  /** Dispatches a queued task on its project's behalf; the same request id comes to the same run. */
  startManaged(order: {
    task: TaskKey;
    projectId: string;
    queued: QueuedTask;
    requestId: string;
  }): Promise<ManagedStart>;
  /** Says which of these runs have settled; one that cannot be asked has not. */
  findSettled(order: { tenantId: string; running: RunningTask[] }): Promise<string[]>;
  /** Begins the queues again that somebody ended from outside: a task may wait in one. Answers how many. */
  reviveProjects(order: { tenantId: string | null }): Promise<number>;
  /** What an earlier queue of the project knew that somebody ended from outside; null when there was none. */
  recoverProject(order: { tenantId: string; projectId: string }): Promise<Project | null>;
}

/** Runs on the orchestrator's queue: what becomes of tasks whose executor or whose workflow is gone. */
export interface OrphanActivities {
  /** Tasks that say `in_progress` while nothing executes them, and tasks whose workflow was ended in mid-run. */
  findOrphans(order: { tenantId: string | null; taskId: string | null; limit: number }): Promise<OrphanCandidate[]>;
  /** Who holds a Codex thread, in words: its lease, or a task that runs on it; null when nobody does. */
  findThreadHolder(order: { threadId: string; task: TaskKey }): Promise<string | null>;
  /** The attempt that holds the lease of a thread; null when the lease is free, or names none. */
  findLeaseHolder(order: { threadId: string }): Promise<string | null>;
  /** Begins the chain of a task again from the record that its closed run holds; false when it is open already. */
  restoreTask(order: { task: TaskKey; runId: string }): Promise<boolean>;
  /** Asks a task to judge its executor and to fail itself on proof. */
  convergeTask(order: { task: TaskKey; requestId: string }): Promise<JudgedOrphan>;
}

/** A part of a record that was moved to the store. */
export interface ArchivedEntry {
  readonly kind: 'activity' | 'attempt';
  readonly id: string;
  readonly body: ActivityEntry | Attempt;
}

/** Runs on the orchestrator's queue. */
export interface ReceiptActivities {
  queueReceipt(order: ReceiptOrder): Promise<Receipt>;
  /** Moves old entries out of a record that grew; idempotent by task, kind and id. */
  archiveEntries(order: { task: TaskKey; entries: ArchivedEntry[] }): Promise<void>;
}

/** Runs on the orchestrator's queue: what callers ask of the store, and what its receipts go through. */
export interface ReceiptStoreActivities {
  listReceipts(request: ListReceipts): Promise<ReceiptList>;
  /** All of them, or none when one is unknown; again is no error. */
  acknowledgeReceipts(request: AcknowledgeReceipts): Promise<Outcome<ReceiptList>>;
  /** Has the delivery of undelivered receipts begun anew; the others stay as they are. */
  resendReceipts(request: ResendReceipts): Promise<Outcome<Resent>>;
}

/** Runs on the orchestrator's queue. */
export interface DeliveryActivities {
  /** Posts a receipt to the webhook, after those of its attempt that come before it; fails as long as it may be tried. */
  postReceipt(order: { receiptId: string }): Promise<Delivery>;
  /** Marks a delivery that was tried for long enough. */
  giveUpReceipt(order: { receiptId: string; error: string }): Promise<Delivery>;
}
