import type { RunReport } from '../../contract/activities';
import { FAILURES, failure, type Failure, type FailureCode } from '../../contract/failures';
import type { Attempt, Carried, CriterionResult, Usage } from '../../contract/run';
import type { Receipt } from '../../contract/receipt';
import { bounded } from '../../contract/text';
import { amendAttempt, currentAttempt } from './attempt';
import { stopIncident } from './decisions';
import { account } from './delivery';
import { managerOf } from './dispatching';
import { addIncident, closeIncident, closeIncidents, endResumed, lostStages, probeIncident } from './incidents';
import { withReceipt } from './owed-receipts';
import { takeReport } from './reporting';
import { transit } from './transitions';

/** Who the engine's own transitions are recorded for. */
export const ENGINE = 'perdure';

/** Running total of the report's thread at the end of the last attempt that knew one. */
function usageBefore(carried: Carried, report: RunReport): Usage | null {
  const attempts = carried.attempts.slice(0, -1);
  return (
    attempts.findLast(({ threadId, threadUsage }) => threadId === report.threadId && threadUsage !== null)
      ?.threadUsage ?? null
  );
}

/** Notes that a thread's total has become smaller, which no total does (CX-18). */
function usageNotes(carried: Carried, report: RunReport): string[] {
  const [before, total] = [usageBefore(carried, report), report.threadUsage];
  if (before === null || total === null) return [];
  const keys = ['inputTokens', 'cachedInputTokens', 'outputTokens'] as const;
  const smaller = keys.filter((key) => total[key] < before[key]);
  if (smaller.length === 0) return [];
  const changes = smaller.map((key) => `${key} ${String(before[key])} to ${String(total[key])}`);
  return [`usage_regressed: the thread's total fell (${changes.join(', ')}); what fell counts as zero`];
}

/** Tokens of this attempt alone: a thread's usage is a running total (CX-18). */
function usageOf(carried: Carried, report: RunReport): Usage | null {
  const total = report.threadUsage;
  if (total === null) return null;
  const before = usageBefore(carried, report);
  const since = (key: keyof Usage) => Math.max(0, total[key] - (before?.[key] ?? 0));
  return {
    inputTokens: since('inputTokens'),
    cachedInputTokens: since('cachedInputTokens'),
    outputTokens: since('outputTokens'),
  };
}

/** A report that names a code says that something went wrong, whatever a newer host means by it. */
const asFailed = (report: RunReport): RunReport =>
  report.outcome === 'completed' && report.code !== null ? { ...report, outcome: 'failed' } : report;

/** Takes a run's report into the record: attempt, thread, and the status that follows from how it ended (SR14). */
export function settle(carried: Carried, given: RunReport, at: string): Carried {
  const report = carried.version > 3 ? asFailed(given) : given;
  const { outcome, code, threadId, workspace = null, workspaceBefore = null, isProbed: _, ...rest } = report;
  const regressed = usageNotes(carried, report);
  const warnings = [...regressed, ...report.warnings];
  const error = report.error === null ? null : bounded(report.error, 1_000);
  const attempt = currentAttempt(carried);
  if (attempt === undefined) return carried;
  const thread = threadId ?? attempt.threadId;
  const isLost = outcome === 'interrupted_owner';
  const confirmed = isLost ? carried : confirmStop(carried, at);
  const incidents = endResumed(confirmed.incidents, { attemptId: attempt.attemptId, at });
  const ended = amendAttempt(
    { ...confirmed, incidents },
    {
      ...rest,
      warnings: warnings.slice(0, 20).map((warning) => bounded(warning, 500)),
      outcome,
      code,
      error,
      threadId: thread,
      codexHome: report.codexHome ?? attempt.codexHome,
      usage: usageOf(carried, report),
      executionResultId: `result:${attempt.attemptId}`,
    },
  );
  const isReview = attempt.purpose === 'review';
  const counted = noteIncidents(countAttempt(ended), report, { regressed, at });
  // What follows is planned once all of it is recorded; until then a stop finds the run.
  const { intent, stop } = isPlanned(counted) ? counted : { intent: null, stop: keptStop(counted) };
  const bound: Carried = {
    ...counted,
    intent,
    stop,
    task: {
      ...ended.task,
      // A review has a thread of its own.
      context: { ...ended.task.context, ...(thread !== null && !isReview && { thread_id: thread }) },
    },
  };
  return conclude(takeReport(bound, { at, workspace, workspaceBefore }), report, at);
}

/** The stop that the end of an attempt leaves open: that of a lost executor, until its host has ended what is left (US-6). */
export const keptStop = (carried: Carried): Carried['stop'] =>
  carried.version > 3 &&
  carried.task.status === 'in_progress' &&
  currentAttempt(carried)?.outcome === 'interrupted_owner'
    ? carried.stop
    : null;

/** Closes what was noted of a stop that was not confirmed in time: the attempt has ended. */
function confirmStop(carried: Carried, at: string): Carried {
  const closing = { at, actor: ENGINE, decision: 'ended' };
  return { ...carried, incidents: closeIncident(carried.incidents, stopIncident(carried), closing) };
}

/** Adds an attempt that has ended to what its delivery has used up. */
function countAttempt(carried: Carried): Carried {
  const attempt = currentAttempt(carried);
  if (carried.delivery === null || attempt === undefined) return carried;
  return { ...carried, delivery: account(carried.delivery, attempt) };
}

/** Whether a usage limit ended the attempt and its end is to be waited for. */
export const waitsForLimit = ({ outcome, code, onUsageLimit }: Attempt): boolean =>
  outcome === 'failed' && code === 'usage_limit' && onUsageLimit !== 'fail';

/** Whether what follows an ended attempt is planned: by its delivery, or because a usage limit is waited for. */
export function isPlanned(carried: Carried): boolean {
  const attempt = currentAttempt(carried);
  if (attempt === undefined || attempt.outcome === null) return false;
  return (carried.delivery !== null && attempt.purpose !== undefined) || waitsForLimit(attempt);
}

interface Noted {
  /** What is noted of a total that fell. */
  readonly regressed: string[];
  readonly at: string;
}

/** Records what happened to an attempt and asks nobody for anything (RC-12). */
function noteIncidents(carried: Carried, report: RunReport, { regressed, at }: Noted): Carried {
  const counted =
    regressed.length === 0 ? carried : addIncident(carried, { code: 'usage_regressed', at, evidence: regressed });
  const code = report.code === null ? undefined : INCIDENT_OF[report.code];
  return code === undefined ? counted : addIncident(counted, { code, at, evidence: [report.error ?? ''] });
}

/** Ends of a run that are incidents of their own. */
const INCIDENT_OF: Partial<Record<FailureCode, FailureCode>> = {
  inactive: 'provider_inactive',
  thread_ambiguous: 'provider_identity_changed',
  spawn_failed: 'spawn_failed',
};

function conclude(carried: Carried, report: RunReport, at: string): Carried {
  const { outcome, warnings } = report;
  const attempt = currentAttempt(carried);
  if (attempt === undefined) return carried;
  if (outcome === 'interrupted_owner') {
    const stages = lostStages(report, attempt.attemptId, at);
    return addIncident(carried, { code: 'interrupted_owner', at, evidence: warnings, stages });
  }
  if (carried.task.status !== 'in_progress' || outcome === 'completed' || isPlanned(carried)) return carried;
  return outcome === 'stopped' ? interruptStopped(carried, attempt, at) : failRun(carried, attempt, at);
}

/** Records that a user ended the run. */
export function interruptStopped(
  carried: Carried,
  { attemptId, code, executionResultId }: Attempt,
  at: string,
): Carried {
  return transit(
    carried,
    {
      to: 'interrupted',
      summary: 'stopped by a user',
      detail: { type: 'interrupted', reason: 'user_stop', attemptId, code },
      executionResultId: executionResultId ?? undefined,
    },
    { at, actor: ENGINE },
  );
}

/** Records that the run failed, and why. */
export function failRun(carried: Carried, { attemptId, code, error, executionResultId }: Attempt, at: string): Carried {
  const reason = bounded(`${code ?? 'RUN_FAILED'}: ${error ?? FAILURES.RUN_FAILED.hint}`, 2_000);
  return transit(
    carried,
    {
      to: 'failed',
      summary: 'the run failed',
      detail: { type: 'failed', attemptId, code },
      fields: { failureReason: reason },
      executionResultId: executionResultId ?? undefined,
    },
    { at, actor: ENGINE },
  );
}

interface Completion {
  readonly attempt: Attempt;
  readonly result: string;
  readonly criteriaMet: number;
}

/** Records that the work of a run is done, on behalf of whoever asked for it; a person may have to review it first. */
export function completeRun(carried: Carried, { attempt, result, criteriaMet }: Completion, at: string): Carried {
  const { attemptId, actor, executionResultId } = attempt;
  const to = carried.task.requireReview ? 'review' : 'completed';
  return transit(
    carried,
    {
      to,
      summary: `${to}, ${String(criteriaMet)} acceptance criteria met`,
      detail: { type: 'completed', attemptId, criteriaMet },
      fields: { result: bounded(result, 4_000) },
      executionResultId: executionResultId ?? undefined,
    },
    { at, actor },
  );
}

/** Records the outcome of a successful run by its acceptance criteria, as the caller that `run` is. */
export function concludeByCriteria(carried: Carried, criteria: CriterionResult[], at: string): Carried {
  const judged = amendAttempt(carried, { criteria });
  const attempt = currentAttempt(judged);
  if (attempt === undefined || judged.task.status !== 'in_progress') return judged;
  const unmet = criteria.filter(({ met }) => !met);
  if (unmet.length === 0) {
    const result = bounded(attempt.observation?.text ?? '', 4_000).trim() || 'completed';
    return completeRun(judged, { attempt, result, criteriaMet: criteria.length }, at);
  }
  const error = bounded(`not met: ${unmet.map(({ command }) => command).join('; ')}`, 1_000);
  const failed = amendAttempt(judged, { code: 'CRITERIA_NOT_MET', error });
  const detail = { type: 'failed', attemptId: attempt.attemptId, code: 'CRITERIA_NOT_MET' };
  const fields = { failureReason: `CRITERIA_NOT_MET: ${error}` };
  const executionResultId = attempt.executionResultId ?? undefined;
  return transit(
    failed,
    { to: 'failed', summary: 'acceptance not met', detail, fields, executionResultId },
    { at, actor: attempt.actor },
  );
}

/** Notes that a receipt of the last attempt is in the store, once however often it was queued. */
export function addReceipt(carried: Carried, receipt: Receipt): Carried {
  const receipts = currentAttempt(carried)?.receipts ?? [];
  return amendAttempt(carried, { receipts: withReceipt(receipts, receipt) });
}

/** Fails a task whose executor is proven gone (OR2), on behalf of whoever dispatched it. */
export function failOrphaned(carried: Carried, evidence: string[], stamp: { at: string; actor: string }): Carried {
  const reason = bounded(`no_executor: no run executes this task any more (${evidence.join('; ')})`, 2_000);
  const probed = probeIncident(carried.incidents, currentAttempt(carried)?.attemptId ?? '', stamp.at);
  const incidents = closeIncidents(probed, { ...stamp, decision: 'no_executor' });
  return transit(
    { ...carried, incidents },
    {
      to: 'failed',
      summary: 'the executor is gone',
      detail: { type: 'failed', code: 'no_executor' },
      fields: { failureReason: reason },
    },
    stamp,
  );
}

/** Fails a task whose agent's reports were not accepted, so that another attempt may follow. */
export function failRejected(carried: Carried, { at, actor }: { at: string; actor: string }): Carried {
  const incidents = closeIncidents(carried.incidents, { at, actor, decision: 'retry' });
  const reason = `checkpoint_rejected: ${carried.delivery?.diagnostic ?? 'the reports were not accepted'}`;
  return transit(
    { ...carried, incidents },
    {
      to: 'failed',
      summary: 'the reports were not accepted',
      detail: { type: 'failed', code: 'checkpoint_rejected' },
      fields: { failureReason: reason },
    },
    { at, actor },
  );
}

/** Refuses to judge the executor of a task that says of none, or that another authority answers for (OR1, OR12, OR13). */
export function notOrphaned(carried: Carried): Failure | null {
  const { task, intent } = carried;
  const isCandidate = task.status === 'in_progress' && task.ownerType === 'agent' && intent === null;
  if (isCandidate && managerOf(carried) === null) return null;
  const why = isCandidate ? 'managed by a project' : intent === null ? task.status : 'being run';
  return failure('TASK_STATUS_CONFLICT', `task ${task.id} is no orphan: it is ${why}`, { taskId: task.id });
}
