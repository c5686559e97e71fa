import { z } from 'zod';

interface FailureKind {
  /** What the caller can do next. */
  readonly hint: string;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;
}

const kind = (retryable: boolean, hint: string): FailureKind => ({ retryable, hint });

/** The one table of failure codes. A code is also the `type` of the ApplicationFailure that carries it. */
export const FAILURES = {
  // Requests that are refused before anything is stored.
  USAGE: kind(false, 'See perdure --help.'),
  INVALID_ARGUMENT: kind(false, 'Correct the argument and send the request again.'),
  REQUEST_CONFLICT: kind(false, 'This request id was used with other content; use a new one.'),
  TEMPORAL_UNREACHABLE: kind(true, 'Start one with `perdure up`, or set TEMPORAL_ADDRESS to a server that runs.'),
  TEMPORAL_REFUSED: kind(false, 'The server refused the request; `perdure doctor` checks what it needs.'),
  WORKER_SILENT: kind(true, 'No worker answered; start one with `perdure up` or `perdure worker`.'),
  PAYLOAD_KEY_MISSING: kind(false, 'Name a file that holds this key by PERDURE_PAYLOAD_KEYS.'),
  HOME_BUSY: kind(false, 'Use the one that runs, or give this one another PERDURE_HOME.'),
  TASK_EXISTS: kind(false, 'Choose another id, or look at that task with `perdure task show`.'),
  TASK_NOT_FOUND: kind(false, 'List the tasks with `perdure task list`.'),
  INCIDENT_NOT_FOUND: kind(false, 'List them with `perdure incident list`.'),
  PROJECT_NOT_FOUND: kind(false, 'A project begins with the first dispatch of one of its tasks, or with its limit.'),
  AGENT_NOT_FOUND: kind(false, 'The built-in agent is general-purpose.'),
  executable_unavailable: kind(true, 'Install the optional package @openai/codex, or set PERDURE_CODEX_BIN.'),
  workspace_missing: kind(false, 'Name a directory that exists on this host, or bring it back.'),
  WORKSPACE_NOT_DIRECTORY: kind(false, 'Name a directory, not a file.'),
  WORKSPACE_NOT_GIT: kind(false, 'Make it a git repository with `git init` and a first commit.'),
  WORKSPACE_NO_COMMIT: kind(false, 'Make a first commit; the task works in a worktree of it.'),
  // Requests that the task's state does not allow.
  TASK_NOT_DISPATCHABLE: kind(false, 'A task can be dispatched when it is pending, interrupted, failed or terminal.'),
  TASK_TERMINAL: kind(false, 'Create a new task.'),
  TASK_IN_REVIEW: kind(false, 'Wait for the decision of the reviewer.'),
  TASK_STATUS_CONFLICT: kind(false, 'Look at the task with `perdure task show`.'),
  STATUS_NOT_UPDATABLE: kind(
    false,
    'Change the status with setStatus (`perdure task complete`, `fail`, `cancel` ...).',
  ),
  TASK_NOT_RUNNING: kind(false, 'There is no run to stop.'),
  AGENT_TASK_REQUIRED: kind(false, 'Only tasks that an agent owns can be dispatched.'),
  NOTHING_TO_DECIDE: kind(false, 'The task waits for no decision.'),
  TASK_DEPENDENCIES_INCOMPLETE: kind(true, 'Complete what it depends on first.'),
  DEPENDENCY_CYCLE: kind(false, 'Take one dependency out of the circle.'),
  MANAGED_START_FAILED: kind(true, "The project's queue could not be told; dispatch again."),
  PROJECT_FULL: kind(true, "The project's queue is full; dispatch again when it is shorter."),
  HUMAN_REQUIRED: kind(false, 'A person decides, outside of any run.'),
  THREAD_BUSY: kind(true, 'Another run or process has this thread open; dispatch again when it has ended.'),
  invalid_criteria: kind(false, 'Give the task acceptance criteria (--accept), or ask for a review with --verify.'),
  budget_fixed: kind(false, 'A delivery keeps its budget; give it more with `perdure decide ID --continue`.'),
  budget_exhausted: kind(false, 'Give it more with `perdure decide ID --continue --tokens N` (or --time, --attempts).'),
  stop_unconfirmed: kind(true, 'It goes on being tried; see that a worker runs on the host of the attempt.'),
  owner_unconfirmed: kind(true, 'Its executor may be alive; look again when its host answers.'),
  CHECK_FAILED: kind(true, 'Follow the hint of each failed check, then run `perdure doctor` again.'),
  INTERNAL: kind(false, 'This is a defect of Perdure: run it again with PERDURE_DEBUG=1 and report what it prints.'),
  LOG_REMOVED: kind(false, 'The output of an attempt goes 30 days after its receipt was acknowledged.'),
  LOG_ELSEWHERE: kind(false, 'The log is on the host that ran the attempt; run the command there.'),
  deadline_passed: kind(false, 'Name a deadline that lies ahead, or none.'),
  direct_stop_failed: kind(true, 'It goes on being tried; ask again with `perdure direct stop`.'),
  direct_snapshot_unavailable: kind(false, 'The snapshot is of another direct task; nothing of it was taken.'),
  // How a run can end without success.
  RUN_FAILED: kind(true, 'Dispatch again: it goes on in the same thread.'),
  CRITERIA_NOT_MET: kind(
    true,
    '`perdure dispatch ID --check` goes on in the same thread and checks the criteria again.',
  ),
  spawn_failed: kind(true, 'The provider could not be started; check PERDURE_CODEX_BIN with `perdure doctor`.'),
  usage_error: kind(false, 'The provider refused its command line; check its version with `perdure doctor`.'),
  provider_exited: kind(true, 'The provider ended before its first event; `perdure logs` shows what it said.'),
  outcome_missing: kind(true, 'The provider ended without a result; check its effects, then dispatch again.'),
  output_unreadable: kind(false, 'The provider printed no readable event; check PERDURE_CODEX_BIN.'),
  output_limit: kind(false, 'The provider printed more than the limit; raise it or narrow the task.'),
  killed_by_signal: kind(true, 'Something ended the provider from outside; dispatch again to go on.'),
  checkpoint_rejected: kind(true, "The agent's report was not accepted; decide, or dispatch again."),
  token_budget: kind(false, 'The delivery used up its tokens; `perdure decide ID --continue --tokens N` gives more.'),
  attempt_budget: kind(
    false,
    'The delivery used up its attempts; `perdure decide ID --continue --attempts N` gives more.',
  ),
  progress_budget: kind(false, 'Attempts in a row made no progress; say how to go on: `perdure decide ID --continue`.'),
  input_required: kind(
    false,
    'Answer it with `perdure decide ID --continue --note ...`: it goes on in the same thread.',
  ),
  deadline_reached: kind(false, 'It was stopped at its deadline; look at what it did, then start another one.'),
  time_budget: kind(true, 'Give more time with --time-limit and dispatch again.'),
  inactive: kind(true, 'The provider said nothing for too long; dispatch again to go on in the same thread.'),
  start_deadline: kind(true, 'No thread began; dispatching again is safe.'),
  workspace_failed: kind(true, 'The worktree could not be made; the error says why.'),
  session_not_found: kind(false, 'The thread is gone; reopen the task with --replace-thread.'),
  thread_archived: kind(false, 'Restore it with `codex unarchive`, then dispatch again.'),
  thread_empty: kind(false, 'The thread holds nothing to resume; reopen the task with --replace-thread.'),
  thread_unreadable: kind(false, 'Codex cannot read the stored thread; reopen the task with --replace-thread.'),
  thread_unusable: kind(false, 'The model refuses what the thread holds; reopen the task with --replace-thread.'),
  policy_widened: kind(false, 'Dispatch with the sandbox that the thread had, or with --replace-thread.'),
  codex_home_missing: kind(false, 'Bring back the Codex home that holds the thread, or use --replace-thread.'),
  credentials_invalid: kind(false, 'Log in again with `codex login`, or correct the API key; then dispatch again.'),
  usage_limit: kind(true, 'The account is at its usage limit; dispatch again after the reset time.'),
  sandbox_unavailable: kind(false, 'Allow user namespaces on this host; `perdure doctor` shows when it works.'),
  thread_missing: kind(true, 'The provider named no thread; dispatch again.'),
  thread_mismatch: kind(false, 'The provider answered for another thread; nothing of it was taken.'),
  thread_ambiguous: kind(false, 'The provider named several threads; nothing of it was taken.'),
  user_stopped: kind(false, 'A user stopped it; dispatch again to go on in the same thread.'),
  usage_regressed: kind(false, "The thread's total of tokens fell; what fell counts as zero."),
  provider_inactive: kind(true, 'The provider was ended for its silence; dispatch again to go on in the same thread.'),
  provider_identity_changed: kind(false, 'The provider named another thread in mid-run; nothing of it was taken.'),
  interrupted_owner: kind(true, 'Check its effects, then decide or dispatch again: it goes on in the same thread.'),
  no_executor: kind(true, 'No run executes the task any more; dispatch it again.'),
  receipt_conflict: kind(false, 'A receipt of this id with other content exists; nothing was overwritten.'),
  receipt_attempt_unknown: kind(false, 'The attempt never passed the fence: there is no result to tell of.'),
  receipt_unknown: kind(false, 'List the receipts with `perdure receipts list`; acknowledged ones go after 30 days.'),
  receipt_undelivered: kind(
    true,
    'It is tried again by itself; check the webhook, and the secret with `perdure doctor`.',
  ),
  receipt_storage_failed: kind(true, 'The receipt could not be stored; check the disk of the orchestrator.'),
} as const satisfies Record<string, FailureKind>;

export type FailureCode = keyof typeof FAILURES;
export const failureCode = z.enum(Object.keys(FAILURES) as [FailureCode, ...FailureCode[]]);

/** What a refused or failed operation says: shape of every failure at every boundary. */
export const failureSchema = z.object({
  success: z.literal(false),
  code: z.string(),
  error: z.string(),
  hint: z.string().optional(),
  retryable: z.boolean().optional(),
  taskId: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});
export type Failure = z.infer<typeof failureSchema>;

/** Builds a failure from the table; `hint` and `retryable` may be made more exact for the case at hand. */
export function failure(
  code: FailureCode,
  error: string,
  exact: { hint?: string; retryable?: boolean; taskId?: string } = {},
): Failure {
  const { hint, retryable } = FAILURES[code];
  return { success: false, code, error, hint, retryable, ...exact };
}

/** An answer or a failure: operations of the product never throw for a refusal. */
export type Outcome<T> = ({ success: true } & T) | Failure;

/** The one sentence that a failed parse says: first path, first message. */
export function invalidArgument(error: z.ZodError): Failure {
  const issue = error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  const message = issue?.message ?? 'is invalid';
  return failure('INVALID_ARGUMENT', path === '' ? message : `${path} ${message}`);
}
