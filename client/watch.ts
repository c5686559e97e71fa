import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Attempt } from '../contract/run';
import { whyQuery, type Why } from '../contract/task';
import { describeTask, queryAttempts } from './record';
import { ask, QUERY_MS, taskHandle, type Session } from './session';
import { patiently, type Notify } from './wait';
import { isOpen, pendingActivities, runningThread, waitOf, withPending } from './why';

/** What a watcher sees of a task at one moment. */
export interface WatchState {
  readonly taskId: string;
  readonly status: string;
  readonly phase: string;
  readonly attention: string;
  readonly sentence: string;
  /** What would move it on. */
  readonly next: string;
  readonly attempt?: Pick<Attempt, 'attemptId' | 'number' | 'mode' | 'threadId' | 'outcome' | 'code'>;
  /** What the host last reported of the run, such as the offset that it has read to. */
  readonly progress?: unknown;
}

export interface WatchOptions {
  readonly notify: Notify;
  /** Ends the watch early. */
  readonly signal?: AbortSignal;
}

const LOOK_MS = 1_000;

/** Yields a task's state now and whenever it changes; ends when the task is at rest with nothing running. */
export async function* watchTask(
  session: Session,
  taskId: string,
  { notify, signal }: WatchOptions,
): AsyncGenerator<WatchState> {
  // A server that is not there at the beginning is a refusal; one that goes away later is waited for.
  await describeTask(session, taskId);
  let mark = '';
  let shown = '';
  while (signal?.aborted !== true) {
    const run = await patiently(() => describeTask(session, taskId), notify);
    const progress = pendingActivities(run)[0]?.heartbeat;
    const seen = JSON.stringify([run.runId, run.historyLength, progress, waitOf(run)]);
    if (seen !== mark) {
      const state = await patiently(() => stateOf(session, taskId, run), notify);
      const text = JSON.stringify([state, progress]);
      if (text !== shown) yield { ...state, ...(progress !== undefined && { progress }) };
      [mark, shown] = [seen, text];
      if (isAtRest(state, run)) return;
    }
    await sleep(LOOK_MS, undefined, signal && { signal }).catch(() => undefined);
  }
}

function isAtRest({ phase, attention }: WatchState, run: WorkflowExecutionDescription): boolean {
  return !isOpen(run) || (phase === 'task' && attention !== 'running' && attention !== 'stopping');
}

async function stateOf(session: Session, taskId: string, run: WorkflowExecutionDescription): Promise<WatchState> {
  const handle = await taskHandle(session, taskId, run.runId);
  const [why, attempts] = await Promise.all([
    ask(session, QUERY_MS, () => handle.query(whyQuery)),
    queryAttempts(session, taskId, run.runId),
  ]);
  return { taskId, ...pick(withPending(why, run)), ...lastAttempt(attempts, runningThread(run)) };
}

const pick = ({ status, phase, attention, sentence, next }: Why) => ({ status, phase, attention, sentence, next });

function lastAttempt(attempts: Attempt[], running: string | undefined): Pick<WatchState, 'attempt'> {
  const last = attempts.at(-1);
  if (last === undefined) return {};
  const { attemptId, number, mode, endedAt, outcome, code } = last;
  const threadId = last.threadId ?? (endedAt === null ? (running ?? null) : null);
  return { attempt: { attemptId, number, mode, threadId, outcome, code } };
}
