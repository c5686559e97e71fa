import { defaultPayloadConverter, type WorkflowExecutionDescription } from '@temporalio/client';
import type { Outcome } from '../contract/failures';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { whyQuery, type Why } from '../contract/task';
import { outcomeOf } from './outcome';
import { missingPollers } from './pollers';
import { describeTask, isSilence, lastKnownRecord, queryTask } from './record';
import { blockingFacts } from './relations';
import { ask, QUERY_MS, taskHandle, type Session } from './session';

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
    const blocking = await queryTask(session, taskId).then(
      (task) => blockingFacts(session, task),
      () => [],
    );
    return {
      taskId,
      ...why,
      facts: [...why.facts, ...blocking, ...activities.flatMap(failureFact), ...missing],
      activities,
    };
  }, taskId);
}

const failureFact = ({ type, tries, lastFailure }: PendingActivity): string[] =>
  lastFailure === undefined ? [] : [`${type} is tried for the ${String(tries)}. time, last failure: ${lastFailure}`];

/** Asks the worker; without one the last known record has to do. */
async function askWhy(
  session: Session,
  taskId: string,
  run: WorkflowExecutionDescription,
): Promise<Why & { stale?: true }> {
  const handle = await taskHandle(session, taskId);
  try {
    return await ask(session, QUERY_MS, () => handle.query(whyQuery));
  } catch (error) {
    if (!isSilence(error)) throw error;
  }
  const { task, stale } = await lastKnownRecord(session, run);
  return {
    sentence: `No worker answers for the task; its last known status is ${task.status}.`,
    phase: run.type,
    status: task.status,
    since: task.statusSince,
    attention: run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.attention) ?? 'unknown',
    next: 'a worker: perdure up, or perdure worker',
    facts: [`the workflow is ${run.status.name.toLowerCase()} since ${run.startTime.toISOString()}`],
    ...(stale && { stale }),
  };
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
