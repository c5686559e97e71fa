import { defaultPayloadConverter, type WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { carriedSchema, attemptsQuery, type Attempt } from '../contract/run';
import { newCarried } from '../contract/new-task';
import { newTaskSchema, taskQuery, taskStatus, type Task } from '../contract/task';
import { refuse, RefusedError } from './outcome';
import { ask, call, QUERY_MS, taskHandle, type Session } from './session';

/** A task's record as its worker answers it, or as its newest run began when no worker answers. */
export interface TaskRecord {
  readonly task: Task;
  readonly attempts: Attempt[];
  /** Set when no worker answered: the record may be older than the truth. */
  readonly stale?: true;
}

/** Reads a task's record; without a worker it comes from the history and is marked. */
export async function readRecord(session: Session, taskId: string): Promise<TaskRecord> {
  const description = await describeTask(session, taskId);
  try {
    const [task, attempts] = await Promise.all([queryTask(session, taskId), queryAttempts(session, taskId)]);
    return { task, attempts };
  } catch (error) {
    if (!isSilence(error)) throw error;
    return lastKnownRecord(session, description);
  }
}

/** Whether an error only says that nobody could answer, not that the request was wrong. */
export function isSilence(error: unknown): boolean {
  return error instanceof RefusedError && error.failure.code === 'WORKER_SILENT';
}

/** Asks the task's worker for the record. */
export async function queryTask(session: Session, taskId: string): Promise<Task> {
  const handle = await taskHandle(session, taskId);
  return ask(session, QUERY_MS, () => handle.query(taskQuery));
}

/** Asks for the attempts, of the newest run or of a given one. */
export async function queryAttempts(session: Session, taskId: string, runId?: string): Promise<Attempt[]> {
  const handle = await taskHandle(session, taskId, runId);
  return ask(session, QUERY_MS, () => handle.query(attemptsQuery));
}

/** Describes the newest run of a task; needs no worker. */
export async function describeTask(session: Session, taskId: string): Promise<WorkflowExecutionDescription> {
  const handle = await taskHandle(session, taskId);
  return call(session, () => handle.describe());
}

const inputSchema = z.union([
  z.object({ carried: carriedSchema }),
  z.object({ create: newTaskSchema }).transform(({ create }) => ({ carried: newCarried(create) })),
]);

/** The record that a run began with, from the run's first event: what is known without a worker. */
export async function lastKnownRecord(session: Session, run: WorkflowExecutionDescription): Promise<TaskRecord> {
  const { history } = await call(session, (client) =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId: run.workflowId, runId: run.runId },
      maximumPageSize: 1,
    }),
  );
  const payload = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  const input = inputSchema.safeParse(payload ? defaultPayloadConverter.fromPayload(payload) : undefined);
  if (!input.success) refuse('WORKER_SILENT', 'no worker answered, and the history holds no record that can be read');
  const { task, attempts } = input.data.carried;
  // The attribute is as new as the last finished workflow task; the input is as old as the run.
  const status = taskStatus.safeParse(run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.status));
  return { task: status.success ? { ...task, status: status.data } : task, attempts, stale: true };
}
