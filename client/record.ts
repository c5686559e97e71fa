import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, WorkflowFailedError, type WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { failure, type Failure } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE } from '../contract/names';
import { carriedSchema, attemptsQuery, type Attempt } from '../contract/run';
import { newCarried } from '../contract/new-task';
import { newTaskSchema, taskQuery, taskStatus, type Task } from '../contract/task';
import { refuse, RefusedError } from './outcome';
import { firstValue, openPending } from './payloads';
import { pollersOf } from './pollers';
import { ask, call, QUERY_MS, taskHandle, type Session } from './session';

/** A task's record as its worker answers it, or as its newest run began when no worker answers. */
export interface TaskRecord {
  readonly task: Task;
  readonly attempts: Attempt[];
  /** The attempt that the run began with, when it created the task as well: no attempt is in the record yet. */
  readonly firstAttemptId?: string;
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
  return askWorker(session, () => handle.query(taskQuery));
}

/** Asks for the attempts, of the newest run or of a given one. */
export async function queryAttempts(session: Session, taskId: string, runId?: string): Promise<Attempt[]> {
  const handle = await taskHandle(session, taskId, runId);
  return askWorker(session, () => handle.query(attemptsQuery));
}

/** Puts a query to a worker; where no worker polls, nobody is waited for. */
export const askWorker = <T>(session: Session, query: () => Promise<T>): Promise<T> =>
  unlessAbsent(session, ask(session, QUERY_MS, query));

/** Waits for an answer, and no longer than a worker may be there; it leaves nothing under way once it has answered. */
export async function unlessAbsent<T>(session: Session, answer: Promise<T>): Promise<T> {
  const answered = new AbortController();
  try {
    return await Promise.race([answer, absence(session, answered.signal)]);
  } finally {
    answered.abort();
  }
}

/** A worker that is there has answered by then; the server is asked about pollers only after that, because it limits it. */
const PRESENCE_MS = 750;
/** How long no worker may be seen before it counts: after a restart of the server each one comes back by itself. */
const ABSENCE_MS = 2_000;

/** Refuses once it is clear that no worker polls; says nothing as long as one might answer. */
async function absence(session: Session, answered: AbortSignal): Promise<never> {
  const { connection } = await session.client();
  // A call that is still under way when the session closes would be tried again on a closed connection.
  const isAbsent = () =>
    connection.withAbortSignal(answered, async () => {
      return (await pollersOf(session, ORCHESTRATOR_QUEUE, 'workflow')).length === 0;
    });
  try {
    await sleep(PRESENCE_MS, undefined, { ref: false, signal: answered });
    if (!(await isAbsent())) return await never();
    await sleep(ABSENCE_MS, undefined, { ref: false, signal: answered });
    if (!(await isAbsent())) return await never();
  } catch {
    // Answered in time; or the query itself says what is wrong with the server.
    return never();
  }
  return refuse('WORKER_SILENT', `no worker polls ${ORCHESTRATOR_QUEUE}`);
}

const never = (): Promise<never> => new Promise(() => undefined);

/** Describes the newest run of a task; needs no worker. Refuses for a task that never began: it has nothing to tell. */
export async function describeTask(session: Session, taskId: string): Promise<WorkflowExecutionDescription> {
  const handle = await taskHandle(session, taskId);
  const run = await call(session, () => handle.describe());
  const unbegun = await refusalOfUnbegun(session, taskId, run);
  if (unbegun !== null) throw new RefusedError(unbegun);
  await openPending(await session.client(), run);
  return run;
}

const carriedInput = z.looseObject({ carried: z.looseObject({}) });

/**
 * What is to be said of a task whose first run refused its own input: its id is taken, and nothing else of it is there.
 * Null for every other task; a record that was carried over is never given up.
 */
export async function refusalOfUnbegun(
  session: Session,
  taskId: string,
  run: Pick<WorkflowExecutionDescription, 'status' | 'workflowId' | 'runId'>,
): Promise<Failure | null> {
  if (run.status.name !== 'FAILED') return null;
  if (carriedInput.safeParse(await readInput(session, run)).success) return null;
  const why = await reasonOfEnd(session, run);
  return failure('TASK_TERMINAL', `task ${taskId} never began: its first run refused what it was given (${why})`, {
    hint: 'There is nothing to read or to bring back, and its id is taken: create it again with another id.',
    taskId,
  });
}

/** The code and the words of the failure that ended a run. */
async function reasonOfEnd(
  session: Session,
  { workflowId, runId }: Pick<WorkflowExecutionDescription, 'workflowId' | 'runId'>,
): Promise<string> {
  const ended = call(session, (client) => client.workflow.getHandle(workflowId, runId, { followRuns: false }).result());
  const error: unknown = await ended.catch((thrown: unknown) => thrown);
  const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
  const code = cause instanceof ApplicationFailure && cause.type ? `${cause.type}: ` : '';
  return `${code}${cause?.message ?? 'its failure cannot be read'}`;
}

const inputSchema = z.union([
  z.object({ carried: carriedSchema }).transform(({ carried }) => ({ carried, attemptId: undefined })),
  z
    .object({ create: newTaskSchema, attemptId: z.uuid().optional() })
    .transform(({ create, attemptId }) => ({ carried: newCarried(create), attemptId })),
]);

/** What a run was started with, from its first event; needs no worker. */
export async function readInput(
  session: Session,
  { workflowId, runId }: Pick<WorkflowExecutionDescription, 'workflowId' | 'runId'>,
): Promise<unknown> {
  const { history } = await call(session, (client) =>
    client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    }),
  );
  const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  return firstValue(await session.client(), input?.payloads);
}

/** The record that a run began with, from the run's first event: what is known without a worker. */
export async function lastKnownRecord(session: Session, run: WorkflowExecutionDescription): Promise<TaskRecord> {
  const input = inputSchema.safeParse(await readInput(session, run));
  if (!input.success) refuse('WORKER_SILENT', 'no worker answered, and the history holds no record that can be read');
  const { carried, attemptId } = input.data;
  const { task, attempts } = carried;
  // The attribute is as new as the last finished workflow task; the input is as old as the run.
  const status = taskStatus.safeParse(run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.status));
  return {
    task: status.success ? { ...task, status: status.data } : task,
    attempts,
    ...(attemptId !== undefined && { firstAttemptId: attemptId }),
    stale: true,
  };
}
