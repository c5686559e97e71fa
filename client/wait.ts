import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowContinuedAsNewError, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { FAILURES, failure, type FailureCode, type Outcome } from '../contract/failures';
import { attemptOf, type Attempt, type SettledResult } from '../contract/run';
import { shellWord, withId } from '../contract/shell';
import type { Task } from '../contract/task';
import { refusalOfRest } from './held';
import { outcomeOf, refuse, toFailure } from './outcome';
import { describeTask, queryAttempts, queryTask } from './record';
import { taskHandle, type Session } from './session';

/** What a waiting caller is told when the wait itself has trouble; each trouble once. */
export type Notify = (note: string) => void;

/** A settled result with the directory of the work, when it is known. */
export type Settled = SettledResult & { readonly workspacePath?: string };

/** Names an attempt of a task. */
export interface AttemptKey {
  readonly taskId: string;
  readonly attemptId: string;
}

/**
 * Waits until an attempt has settled and answers its result (SR). It follows the close events of the task's runs, so
 * it costs nothing meanwhile, and it goes on for as long as the caller does, whatever server or worker does.
 */
export async function waitSettled(session: Session, key: AttemptKey, notify: Notify): Promise<Outcome<Settled>> {
  const followed = await outcomeOf(() => followAttempt(session, key, notify), key.taskId);
  if (!followed.success) return followed;
  const { attempt } = followed;
  const task = await queryTask(session, key.taskId).catch(() => undefined);
  const settled = settle(key.taskId, attempt, task?.status);
  const rests = await refusalOfRest(session, task, attempt);
  // A delivery that paused or asked is not done, however well its last attempt ended.
  return rests === null ? withUnchecked(settled, attempt, task) : { ...settled, ...rests };
}

/** Says that nobody checked the acceptance criteria, where the caller that records the outcome may think so. */
function withUnchecked(settled: Outcome<Settled>, { completion }: Attempt, task: Task | undefined): Outcome<Settled> {
  const isOpen = settled.success && completion === 'caller' && task?.status === 'in_progress';
  if (!isOpen || task.acceptance.length === 0) return settled;
  const again = `perdure dispatch ${shellWord(task.id)} --check`;
  const unchecked = `its acceptance criteria were not checked; \`${again}\` goes on and checks them`;
  return { ...settled, warnings: [...(settled.warnings ?? []), unchecked] };
}

/** Waits until an attempt has ended and its phase is over. */
export async function followAttempt(session: Session, key: AttemptKey, notify: Notify): Promise<{ attempt: Attempt }> {
  for (;;) {
    const seen = await patiently(() => look(session, key), notify);
    if (seen.attempt !== undefined && seen.isSettled) return { attempt: seen.attempt };
    if (!seen.isOpen) {
      refuse('no_executor', `the workflow of task ${key.taskId} was ended from outside while the attempt ran`, {
        taskId: key.taskId,
      });
    }
    await patiently(() => untilClosed(session, key.taskId, seen.runId), notify);
  }
}

/** How long a caller waits for the end that a stop asked for; the stop itself goes on until the host has answered. */
const CONFIRM_MS = 90_000;

/** Waits for the end that a stop asked for; throws `code` when it is not confirmed in time. */
export async function confirmed<T>(ended: Promise<T>, code: FailureCode, { taskId }: { taskId: string }): Promise<T> {
  const late = sleep(CONFIRM_MS, undefined, { ref: false }).then(() =>
    refuse(code, `the stop of ${taskId} is stored, and its host has not confirmed yet that nothing of it runs`, {
      taskId,
    }),
  );
  return Promise.race([ended, late]);
}

/** Looks for an attempt in the newest run: it appears after a reopening. */
async function look(session: Session, { taskId, attemptId }: AttemptKey) {
  const { runId, status } = await describeTask(session, taskId);
  const attempts = await queryAttempts(session, taskId, runId);
  const attempt = attemptOf(attempts, attemptId);
  const isOpen = status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW';
  return { attempt, runId, isOpen, isSettled: attempt !== undefined && attempt.settledAt !== null };
}

async function untilClosed(session: Session, taskId: string, runId: string): Promise<void> {
  await untilRunCloses(await taskHandle(session, taskId, runId));
}

/** Waits for the close event of one run, whatever it says. */
export async function untilRunCloses(handle: WorkflowHandle): Promise<void> {
  try {
    await handle.result();
  } catch (error) {
    if (!(error instanceof WorkflowContinuedAsNewError || error instanceof WorkflowFailedError)) throw error;
  }
}

/** Repeats work for as long as the server or the worker is away. */
export async function patiently<T>(work: () => Promise<T>, notify: Notify): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const known = toFailure(error);
      const isAway = known?.code === 'TEMPORAL_UNREACHABLE' || known?.code === 'WORKER_SILENT';
      if (!isAway && !(known?.code === 'TEMPORAL_REFUSED' && known.retryable === true)) throw error;
      if (tries === 0) notify(`${known.error}; the task goes on, waiting for an answer`);
      await sleep(Math.min(500 * 2 ** tries, 3_000));
    }
  }
}

/** The settled result of an attempt: a success only when the run completed and nothing speaks against it. */
export function settle(taskId: string, attempt: Attempt, taskStatus: string | undefined): Outcome<Settled> {
  const common = {
    taskId,
    agentId: attempt.agentId,
    threadId: attempt.threadId,
    ...(attempt.executionResultId !== null && { executionResultId: attempt.executionResultId }),
    ...(taskStatus !== undefined && { taskStatus }),
    ...(attempt.workspacePath !== null && { workspacePath: attempt.workspacePath }),
    ...(attempt.warnings.length > 0 && { warnings: attempt.warnings }),
  };
  if (attempt.outcome === 'completed' && attempt.code === null) {
    return { success: true, ...common, ...(attempt.observation !== null && { observation: attempt.observation.text }) };
  }
  const code = attempt.code ?? (attempt.outcome === 'interrupted_owner' ? 'interrupted_owner' : 'RUN_FAILED');
  const error = attempt.error ?? `the run ended as ${attempt.outcome ?? 'unknown'}`;
  return { ...failure(code, error, { hint: withId(FAILURES[code].hint, taskId) }), ...common };
}
