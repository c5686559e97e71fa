import type { RunOrder } from '../../contract/activities';
import type { FailureCode } from '../../contract/failures';
import type { RunOutcome } from '../../contract/run';
import type { RunEvents } from './event-reducer';
import { causeOf } from './failure-cause';
import { errorLine } from './plain-text';
import type { ExitRecord, StopReason } from './run-directory';

/** Everything that a finished run left to judge it by. */
export interface RunTraces {
  /** Null when the runner died before it could say. */
  readonly exit: ExitRecord | null;
  /** A stop that was asked for, whoever carried it out. */
  readonly stop: StopReason | null;
  readonly events: RunEvents;
  readonly oversized: number;
  /** Bytes on standard output. */
  readonly printed: number;
  /** Bytes up to and with the event that ended the turn. */
  readonly resultAt: number;
  readonly stderr: string;
  /** Whether the thread's own record says that its user interrupted the turn. */
  readonly isInterrupted: boolean;
}

export interface Verdict {
  readonly outcome: RunOutcome;
  readonly code: FailureCode | null;
  readonly error: string | null;
}

type Identity = Pick<RunOrder, 'mode' | 'threadId'>;

const failed = (code: FailureCode, error: string): Verdict => ({ outcome: 'failed', code, error });
const COMPLETED: Verdict = { outcome: 'completed', code: null, error: null };
const STOPPED: Verdict = { outcome: 'stopped', code: 'user_stopped', error: 'the run was stopped' };
const INTERRUPTED: Verdict = { ...STOPPED, error: 'the user interrupted the provider' };

/** What Codex says when it refuses a resume, by wordings that several versions had. */
const REFUSALS: readonly (readonly [RegExp, FailureCode])[] = [
  [/already has an active (writer|turn)/i, 'THREAD_BUSY'],
  [
    /the app server at [^\n]* does not answer|(initialize|thread\/resume): (no answer|the app server closed)/i,
    'THREAD_BUSY',
  ],
  [/is archived/i, 'thread_archived'],
  [/\bis empty\b/i, 'thread_empty'],
  [/missing an ordinal|not start with session metadata|failed to read session metadata/i, 'thread_unreadable'],
  [/rollout\b[^\n]*\b(damaged|corrupt|invalid|malformed)|thread persistence/i, 'thread_unreadable'],
  [/no (such |saved |matching )?(rollout|thread|session|conversation)/i, 'session_not_found'],
  [/(rollout|thread|session|conversation)\b[^\n]*\b(not found|not exist|unknown|missing)/i, 'session_not_found'],
  [/(not find|not found|unknown|not locate)\b[^\n]*\b(rollout|thread|session|conversation)/i, 'session_not_found'],
];

/** Whether the run was of the thread that was asked for; null when it was. */
export function identityProblem({ mode, threadId }: Identity, threadIds: readonly string[]): Verdict | null {
  const [first, ...more] = threadIds;
  if (first === undefined) return failed('thread_missing', 'the provider named no thread');
  if (more.length > 0) {
    return failed(
      'thread_ambiguous',
      `the provider named ${String(threadIds.length)} threads: ${threadIds.join(', ')}`,
    );
  }
  if (mode === 'resume' && first !== threadId) {
    return failed('thread_mismatch', `thread ${String(threadId)} was asked for, the provider answered for ${first}`);
  }
  return null;
}

/** Last words of a failed run: its own verdict, else its last error, else its standard error. */
function lastWords({ events, stderr }: RunTraces): string {
  const { terminal, lastError } = events;
  return (terminal?.kind === 'failed' ? terminal.message : null) ?? lastError ?? errorLine(stderr);
}

/** A failure by a provider's own words, with the code of their cause where they name one. */
const failedSaying = (words: string, code: FailureCode = 'RUN_FAILED'): Verdict =>
  failed(causeOf(words) ?? code, words);

function withWords(sentence: string, traces: RunTraces): string {
  const words = lastWords(traces);
  return words === '' ? sentence : `${sentence}: ${words}`;
}

function stopVerdict(reason: StopReason, traces: RunTraces): Verdict {
  switch (reason) {
    case 'user':
    case 'cancelled':
      return STOPPED;
    case 'inactive':
      if (traces.events.fatalError !== null && causeOf(traces.events.fatalError) !== null) {
        return failedSaying(traces.events.fatalError);
      }
      return failed('inactive', withWords('the provider was silent for longer than the limit', traces));
    case 'start_deadline':
      return failed('start_deadline', withWords('no thread began within the limit', traces));
    case 'workspace_missing':
      return failed('workspace_missing', 'the workspace went away while the provider worked in it');
    case 'terminated':
      return failed('killed_by_signal', 'the runner was asked to end, and ended the provider');
  }
}

function forcedVerdict(exit: ExitRecord, traces: RunTraces): Verdict | null {
  switch (exit.reason) {
    case 'stop':
      return stopVerdict(exit.stopReason ?? 'user', traces);
    case 'deadline':
      return failed('time_budget', 'the time limit was reached');
    case 'output_limit':
      return failed('output_limit', 'the provider printed more than the limit');
    case null:
      return null;
  }
}

/** A provider that ended without one readable event. */
function silentVerdict(exit: ExitRecord, traces: RunTraces, order: Identity): Verdict {
  const words = errorLine(traces.stderr);
  const ended = `the provider ended with exit code ${String(exit.code)}`;
  if (exit.code === 2) return failed('usage_error', words === '' ? ended : words);
  if (traces.oversized > 0) return failed('output_limit', 'a line of the output was longer than the limit');
  if (traces.printed > 0) return failed('output_unreadable', `${ended} and printed no readable event`);
  const refusal =
    order.mode === 'resume' && exit.code !== 0 ? REFUSALS.find(([text]) => text.test(traces.stderr)) : undefined;
  if (refusal !== undefined) return failed(refusal[1], words);
  if (words === '') return failed('provider_exited', `${ended} and said nothing`);
  return failedSaying(`${ended}: ${words}`, 'provider_exited');
}

/** A turn whose every command failed for want of a sandbox did nothing, whatever it says. */
function completedVerdict({ commands, sandboxFailures }: RunEvents): Verdict {
  if (commands === 0 || sandboxFailures < commands) return COMPLETED;
  const all = commands === 1 ? 'the only command' : `all ${String(commands)} commands`;
  return failed('sandbox_unavailable', `${all} of the run failed because the sandbox could not start`);
}

function endedVerdict(exit: ExitRecord, traces: RunTraces, order: Identity): Verdict {
  const { events, oversized } = traces;
  if (exit.signal !== null) return failed('killed_by_signal', withWords(`${exit.signal} ended the provider`, traces));
  if (events.events === 0) return silentVerdict(exit, traces, order);
  if (events.terminal?.kind === 'failed') return failedSaying(lastWords(traces) || 'the turn failed');
  if (exit.code !== 0 && traces.isInterrupted) return INTERRUPTED;
  if (oversized > 0 && events.terminal === null) {
    return failed('output_limit', 'a line of the output was longer than the limit, and no result followed');
  }
  const words = lastWords(traces);
  if (exit.code !== 0 && words !== '') return failedSaying(words);
  if (exit.code === 0 && events.terminal !== null) return completedVerdict(events);
  return failed('outcome_missing', `the provider ended with exit code ${String(exit.code)} and without a result`);
}

/** The runner is gone without a word: only a result in the events themselves may speak for it. */
function orphanVerdict(traces: RunTraces): Verdict {
  const { terminal } = traces.events;
  if (terminal?.kind === 'completed') return completedVerdict(traces.events);
  if (terminal?.kind === 'failed') return failedSaying(lastWords(traces) || 'the turn failed');
  if (traces.stop !== null) return stopVerdict(traces.stop, traces);
  if (traces.isInterrupted) return INTERRUPTED;
  return {
    outcome: 'interrupted_owner',
    code: 'interrupted_owner',
    error: withWords('the executor died without a result', traces),
  };
}

/** Whether the result only came when a person had stopped the run. */
function isAfterStop({ stopReason, printedBefore }: ExitRecord, { resultAt }: RunTraces): boolean {
  const isUserStop = stopReason === 'user' || stopReason === 'cancelled';
  return isUserStop && printedBefore !== undefined && resultAt > printedBefore;
}

/** Judges a finished run; a success needs exit code 0, a completed turn, and the right thread. */
export function judgeRun(traces: RunTraces, order: Identity): Verdict {
  const { exit, events } = traces;
  const { spawnError } = exit ?? { spawnError: null };
  if (spawnError !== null) {
    const code = spawnError.subject === 'workspace' ? 'workspace_missing' : 'spawn_failed';
    return failed(code, `${spawnError.code}: ${spawnError.message}`);
  }
  const wrongThread = identityProblem(order, events.threadIds);
  const isComplete = exit?.code === 0 && events.terminal?.kind === 'completed' && !isAfterStop(exit, traces);
  const forced = exit === null || isComplete ? null : forcedVerdict(exit, traces);
  if (forced?.outcome === 'stopped') return forced;
  if (wrongThread !== null && wrongThread.code !== 'thread_missing') return wrongThread;
  if (forced !== null) return forced;
  const verdict = exit === null ? orphanVerdict(traces) : endedVerdict(exit, traces, order);
  return verdict.outcome === 'completed' && wrongThread !== null ? wrongThread : verdict;
}
