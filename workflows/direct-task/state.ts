import type { RunReport } from '../../contract/activities';
import type { DirectTask } from '../../contract/direct';
import type { FailureCode } from '../../contract/failures';
import type { Receipt } from '../../contract/receipt';
import { bounded } from '../../contract/text';
import { canStop, DIRECT_REGISTRY } from '../../contract/stoppable';
import { closeIncidents, lostStages } from '../task-record/incidents';

/** What the snapshot keeps: characters of an error, warnings or pieces of evidence, characters of each. */
const ERROR_CHARACTERS = 4_000;
const WORDS = 50;
const WORD_CHARACTERS = 1_000;

const keep = (words: readonly string[]): string[] =>
  words.slice(0, WORDS).map((word) => bounded(word, WORD_CHARACTERS));

/** Name of the one invocation that a direct task has. */
export const aliasOf = ({ id }: Pick<DirectTask, 'id'>): string => `${id}:provider:1`;

/** Counts the invocation before anything is asked of a host (DT-4); a second one is a defect of ours (DT-1). */
export function begin(task: DirectTask, attemptId: string, at: string): DirectTask {
  if (task.status !== 'queued' || task.invocationCount !== 0) throw new Error('a direct task is invoked once');
  const { id: taskId, hostId } = task;
  const handle = { taskId, hostId, attemptId, alias: aliasOf(task) };
  return { ...task, status: 'running', invocationCount: 1, handle, updatedAt: at };
}

export const isTerminal = ({ status }: DirectTask): boolean => ['stopped', 'completed', 'failed'].includes(status);

/** Whether its executor was lost and nobody has judged what became of it. */
const isUncertain = ({ incidents }: DirectTask): boolean => incidents.some(({ decidedAt }) => decidedAt === null);

type StopRequest = Omit<NonNullable<DirectTask['stop']>, 'at'>;

/** Accepts a stop where one can act (DT-23, DT-25); the first one stays. One that nothing ran for ends at once (DT-26). */
export function requestStop(task: DirectTask, request: StopRequest, at: string): DirectTask {
  if (!canStop(task, DIRECT_REGISTRY) || task.stop !== null) return task;
  const stopped: DirectTask = { ...task, stop: { ...request, at }, status: 'stopping', updatedAt: at };
  return task.handle === null ? end(stopped, stopEnding(request), at) : stopped;
}

interface Ending {
  readonly status: 'stopped' | 'completed' | 'failed';
  readonly code: FailureCode | null;
  readonly error: string | null;
}

const DEADLINE: Ending = { status: 'failed', code: 'deadline_reached', error: 'deadline reached' };
const STOPPED: Ending = { status: 'stopped', code: null, error: null };

function end(task: DirectTask, ending: Ending, at: string): DirectTask {
  const incidents = closeIncidents(task.incidents, { at, actor: 'perdure', decision: 'ended' });
  return { ...task, ...ending, incidents, endedAt: at, updatedAt: at };
}

/** Whether the host's own time limit came because of the deadline, which is then the reason that is told. */
function isAtDeadline({ deadlineAt, limits }: DirectTask, { code, startedAt }: RunReport): boolean {
  if (deadlineAt === null || code !== 'time_budget') return false;
  return startedAt === null || Date.parse(startedAt) + limits.timeMs >= Date.parse(deadlineAt);
}

/** A stop that was asked for says how it ends, whatever the exit (DT-18, DT-20). */
const stopEnding = ({ cause }: StopRequest): Ending => (cause === 'deadline' ? DEADLINE : STOPPED);

function endingOf(task: DirectTask, report: RunReport): Ending {
  if (task.stop !== null) return stopEnding(task.stop);
  if (report.outcome === 'stopped') return STOPPED;
  if (report.outcome === 'completed') return { status: 'completed', code: null, error: null };
  if (isAtDeadline(task, report)) return DEADLINE;
  const error = bounded(report.error ?? 'the run failed', ERROR_CHARACTERS);
  return { status: 'failed', code: report.code ?? 'RUN_FAILED', error };
}

/** Whether a report proves that no provider was ever started: then none was invoked (DT-4, DT-5). */
const provesNoSpawn = ({ spawns, exit, startedAt, code }: RunReport): boolean =>
  spawns === 0 && exit === null && startedAt === null && code !== 'spawn_failed';

/** Takes the one result of the invocation; a lost executor leaves it to a person (DW-3, DW-4). */
export function settle(task: DirectTask, report: RunReport, at: string): DirectTask {
  const known: DirectTask = {
    ...task,
    result: report.observation,
    usage: report.threadUsage,
    exit: report.exit,
    threadId: report.threadId,
    codexHome: report.codexHome,
    cliVersion: report.cliVersion,
    spawns: report.spawns,
    strays: report.strays,
    warnings: keep(report.warnings),
    startedAt: report.startedAt,
  };
  if (report.outcome === 'interrupted_owner') return losing(known, report, at);
  const invocationCount = provesNoSpawn(report) ? 0 : 1;
  return end({ ...known, invocationCount }, endingOf(task, report), report.endedAt);
}

function losing(task: DirectTask, report: RunReport, at: string): DirectTask {
  const { error, warnings } = report;
  const attemptId = task.handle?.attemptId ?? task.id;
  const words = bounded(error ?? 'the executor died without a result', ERROR_CHARACTERS);
  const incident = {
    id: `i-${String(task.incidents.length + 1)}`,
    code: 'interrupted_owner' as const,
    subject: attemptId,
    at,
    evidence: keep([words, ...warnings.filter((warning) => warning !== error)]),
    decidedAt: null,
    stages: lostStages(report, attemptId, at),
  };
  return {
    ...task,
    status: 'recovery_required',
    code: 'interrupted_owner',
    error: words,
    incidents: [...task.incidents, incident],
    updatedAt: at,
  };
}

/** Lets a waiting stop go on with the handle of a lost executor (11.5). */
export const resumeStop = (task: DirectTask): DirectTask =>
  task.status === 'recovery_required' && task.stop !== null ? { ...task, status: 'stopping' } : task;

/** Ends a lost task whose host has confirmed that nothing of it runs any more. */
export const confirmStop = (task: DirectTask, at: string): DirectTask =>
  task.stop !== null && isDecidable(task) ? end(task, stopEnding(task.stop), at) : task;

type Decision = NonNullable<DirectTask['decision']>;

/** Whether a person has to say what became of it. */
export const isDecidable = (task: DirectTask): boolean => isUncertain(task) && !isTerminal(task);

/** Ends a lost task by a person's word: the work is taken as done, or as failed. */
export function decide(task: DirectTask, decision: Decision, at: string): DirectTask {
  if (!isDecidable(task)) return task;
  const ending: Ending =
    decision.decision === 'accept'
      ? { status: 'completed', code: null, error: null }
      : { status: 'failed', code: 'interrupted_owner', error: task.error };
  const incidents = closeIncidents(task.incidents, { at, actor: decision.actor, decision: decision.decision });
  return { ...end({ ...task, incidents }, ending, at), decision };
}

/** Notes the receipt of the stored result. */
export const addReceipt = (task: DirectTask, receipt: Receipt): DirectTask => ({ ...task, receipt });

/** Notes a bookkeeping failure; the status stays (RQ-8). */
export function noteRecovery(task: DirectTask, note: NonNullable<DirectTask['recoveryNote']>): DirectTask {
  return { ...task, recoveryNote: { ...note, evidence: keep(note.evidence) } };
}
