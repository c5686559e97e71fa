import { defaultPayloadConverter, type WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import type { Outcome } from '../contract/failures';
import { SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import { projectOf } from '../contract/project';
import { executorOf, whyQuery, type Task, type Why } from '../contract/task';
import { outcomeOf } from './outcome';
import { missingPollers } from './pollers';
import { askWorker, describeTask, isSilence, lastKnownRecord, queryTask } from './record';
import { readProject } from './project';
import { blockingFacts } from './relations';
import { startOf } from './run-files';
import { taskHandle, type Session } from './session';

/** An activity that a task waits for, as the server sees it. */
export interface PendingActivity {
  readonly type: string;
  readonly state: string;
  /** Tries of this activity, from 1; every try of runProvider adopts the same run. */
  readonly tries: number;
  readonly lastFailure?: string;
  readonly lastHeartbeatAt?: string;
  /** What the activity last reported, such as the offset that it has read to. */
  readonly heartbeat?: unknown;
}

export interface Explanation extends Why {
  readonly taskId: string;
  readonly activities: PendingActivity[];
  readonly stale?: true;
}

/** Says what a task does or waits for, and the facts behind it: its own, its activities' and its queues'. */
export async function explainTask(session: Session, taskId: string): Promise<Outcome<Explanation>> {
  return outcomeOf(async () => {
    const run = await describeTask(session, taskId);
    const hostId = run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.host);
    const [why, missing] = await Promise.all([
      askWhy(session, taskId, run),
      hostId === undefined ? [] : missingPollers(session, hostId),
    ]);
    const activities = pendingActivities(run);
    const seen = withPending(why, run);
    // A worker that did not answer the one query is not waited for with another.
    const around = why.stale === true ? {} : await outlookOf(session, taskId, seen);
    const { executor } = seen;
    const facts = [...seen.facts, ...(around.facts ?? []), ...activities.flatMap(failureFact), ...missing];
    return {
      taskId,
      ...seen,
      ...around,
      executor: executor === null ? null : { ...executor, startedAt: await startOf(session, executor) },
      facts,
      activities,
    };
  }, taskId);
}

/** What other tasks and its project's queue make of a task: they may be what it waits for. */
async function outlookOf(session: Session, taskId: string, why: Why): Promise<Partial<Why>> {
  const task = await queryTask(session, taskId).catch(() => undefined);
  if (task === undefined) return {};
  const blocking = await blockingFacts(session, task);
  const queued = await queueOutlook(session, task);
  const facts = [...blocking, ...(queued.facts ?? [])];
  const isAtRest = why.attention !== 'running' && why.attention !== 'stopping';
  if (isAtRest && queued.sentence !== undefined) return { ...queued, facts };
  if (blocking.length === 0) return { facts };
  return { facts, next: 'the completion of what blocks it, or task update --depends-on; dispatch --auto waits for it' };
}

/** Where a managed task stands in its project's queue. */
async function queueOutlook(session: Session, task: Task): Promise<Partial<Why>> {
  const projectId = projectOf(task);
  if (projectId === null) return {};
  const found = await outcomeOf(async () => ({ project: await readProject(session, projectId) }));
  if (!found.success) return { facts: [`project ${projectId} has no queue yet: dispatch puts the task into it`] };
  const { queue, running, starting, limit, isPaused } = found.project;
  const slots = `${String(running.length + starting.length)} of ${String(limit)} slots of project ${projectId} are taken`;
  const facts = [`${slots}${isPaused ? ', and it is paused' : ''}`];
  const isTask = ({ taskId }: { taskId: string }) => taskId === task.id;
  if ([...running, ...starting].some(isTask)) return { facts: [`${slots}, one of them by this task`] };
  const place = queue.findIndex(isTask) + 1;
  if (place === 0) return { facts: [...facts, `not in the queue of project ${projectId}`] };
  return {
    facts,
    sentence: `The task waits in the queue of project ${projectId}, at place ${String(place)} of ${String(queue.length)}.`,
    next: isPaused ? `perdure project resume ${projectId}` : 'its turn; stop takes it out of the queue',
  };
}

const failureFact = ({ type, tries, lastFailure }: PendingActivity): string[] =>
  lastFailure === undefined ? [] : [`${type} is at try ${String(tries)}, last failure: ${lastFailure}`];

/** Asks the worker; without one the last known record has to do. */
async function askWhy(
  session: Session,
  taskId: string,
  run: WorkflowExecutionDescription,
): Promise<Why & { stale?: true }> {
  const handle = await taskHandle(session, taskId);
  try {
    return await askWorker(session, () => handle.query(whyQuery));
  } catch (error) {
    if (!isSilence(error)) throw error;
  }
  const { task, attempts, firstAttemptId, stale } = await lastKnownRecord(session, run);
  const { hostId } = task.workspace;
  const first = firstAttemptId === undefined ? null : { attemptId: firstAttemptId, hostId, ...UNKNOWN };
  return {
    sentence: `No worker answers for the task; its last known status is ${task.status}.`,
    phase: run.type,
    status: task.status,
    since: task.statusSince,
    attention: run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.attention) ?? 'unknown',
    next: 'a worker: perdure up, or perdure worker',
    facts: [`the workflow is ${run.status.name.toLowerCase()} since ${run.startTime.toISOString()}`],
    executor: executorOf(attempts.at(-1)) ?? first,
    ...(stale && { stale }),
  };
}

const UNKNOWN = { threadId: null, startedAt: null };

/** Milliseconds that a worker has to take up a run before it counts as waited for. */
const PICKUP_MS = 2_000;

const runProviderOf = (run: WorkflowExecutionDescription) =>
  run.raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'runProvider');

/** Whether a run is to be taken up and no worker of its host does so; `again` when one did before. */
export function waitOf(run: WorkflowExecutionDescription): 'first' | 'again' | undefined {
  const pending = runProviderOf(run);
  if (STATES[pending?.state ?? 0] !== 'scheduled') return undefined;
  const since = Number(pending?.scheduledTime?.seconds ?? 0) * 1_000;
  if (Date.now() - since < PICKUP_MS) return undefined;
  return pending?.lastWorkerIdentity ? 'again' : 'first';
}

/** Thread of the run that a task waits for, as its host last reported it. */
export function runningThread(run: WorkflowExecutionDescription): string | undefined {
  const beat = pendingActivities(run).find(({ type }) => type === 'runProvider')?.heartbeat;
  const parsed = z.looseObject({ threadId: z.string() }).safeParse(beat);
  return parsed.success ? parsed.data.threadId : undefined;
}

/** Whether a task's chain goes on; only somebody from outside, or bad input at creation, ends it. */
export const isOpen = ({ status }: WorkflowExecutionDescription): boolean =>
  status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW';

/** What can be said of a task whose workflow was ended: the record is from before, and its agent may still work. */
function closed<T extends Why>(why: T, run: WorkflowExecutionDescription): T {
  const how = `${run.status.name.toLowerCase()} at ${run.closeTime?.toISOString() ?? 'an unknown time'}`;
  const wasRunning = ['running', 'stopping'].includes(why.attention) || why.phase === WORKFLOW.dispatchTask;
  return {
    ...why,
    sentence: `The workflow of the task was ${how}; what follows is from before.`,
    attention: 'closed',
    next: wasRunning
      ? 'perdure orphans --apply (or the sweep) brings it back with its run; perdure stop on its host ends that'
      : 'perdure dispatch brings it back',
    facts: [`it said then: ${why.sentence}`, ...why.facts],
  };
}

/** Corrects what a record says by what the server knows of the run: who waits for whom, and the thread. */
export function withPending<T extends Why>(why: T, run: WorkflowExecutionDescription): T {
  if (!isOpen(run)) return closed(why, run);
  const thread = runningThread(run);
  const facts = why.facts.map((fact) =>
    fact === 'thread not known yet' && thread !== undefined ? `thread ${thread}` : fact,
  );
  const executor =
    why.executor === null ? null : { ...why.executor, threadId: why.executor.threadId ?? thread ?? null };
  const wait = waitOf(run);
  if (why.attention !== 'running' || wait === undefined) return { ...why, facts, executor };
  const [attempt = 'The run'] = /^Attempt \d+ \(\w+\)/.exec(why.sentence) ?? [];
  const host = run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.host) ?? '?';
  const rest = wait === 'first' ? '; it has not started' : ' that follows it again';
  const next = `a worker of host ${host} (perdure up, or perdure worker), or stop`;
  return { ...why, facts, executor, sentence: `${attempt} waits for a worker of host ${host}${rest}.`, next };
}

const STATES = ['unspecified', 'scheduled', 'started', 'cancel requested', 'paused', 'pause requested'];

/** The activities that a run waits for, with what they last reported. */
export function pendingActivities(run: WorkflowExecutionDescription): PendingActivity[] {
  return (run.raw.pendingActivities ?? []).map((pending) => {
    const { activityType, state, attempt, lastFailure, heartbeatDetails, lastHeartbeatTime } = pending;
    const payload = heartbeatDetails?.payloads?.[0];
    const seconds = Number(lastHeartbeatTime?.seconds ?? 0);
    return {
      type: activityType?.name ?? 'unknown',
      state: STATES[state ?? 0] ?? 'unknown',
      tries: attempt ?? 1,
      ...(lastFailure?.message && { lastFailure: lastFailure.message }),
      ...(seconds > 0 && { lastHeartbeatAt: new Date(seconds * 1_000).toISOString() }),
      ...(payload && { heartbeat: defaultPayloadConverter.fromPayload<unknown>(payload) }),
    };
  });
}
