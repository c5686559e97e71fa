import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure, Outcome } from '../contract/failures';
import { projectOf } from '../contract/project';
import { carriedQuery, stopSchema, stopUpdate, type Attempt } from '../contract/run';
import { shellWord } from '../contract/shell';
import { whyQuery, type Task } from '../contract/task';
import { stopLostRun } from './lost-run';
import { outcomeOf, RefusedError, toFailure } from './outcome';
import { withdrawTask } from './project';
import { askWorker, queryAttempts, queryTask } from './record';
import { isClosed, sendUpdate } from './send-update';
import { taskHandle, type Session } from './session';
import { confirmed, followAttempt, patiently, type AttemptKey, type Notify } from './wait';

export interface StoppedTask {
  readonly taskId: string;
  readonly attemptId?: string;
  /** Always true: nothing of the attempt runs any more when this is said. */
  readonly stopped: true;
  readonly outcome?: string;
  readonly taskStatus?: string;
}

export interface StopRequest {
  readonly taskId: string;
  readonly reason?: string;
}

/** Stops the run of a task and answers once it has ended; the task goes on as `interrupted` or as it settled. */
export async function stopTask(session: Session, request: StopRequest, notify: Notify): Promise<Outcome<StoppedTask>> {
  const { taskId, reason } = request;
  return outcomeOf(async () => {
    const request = stopSchema.parse({ actor: session.actor, reason });
    try {
      await sendUpdate(session, taskId, { definition: stopUpdate, request });
    } catch (error) {
      const known = toFailure(error);
      const waiting = known?.code === 'TASK_NOT_RUNNING' ? await queryTask(session, taskId) : undefined;
      if (waiting !== undefined && (await leaveQueue(session, waiting))) {
        return { taskId, stopped: true as const, taskStatus: waiting.status };
      }
      if (known !== undefined && waiting?.status === 'in_progress') await refuseOpen(session, taskId, known);
      const lost = isClosed(error) ? (await queryAttempts(session, taskId)).at(-1) : undefined;
      if (lost === undefined || !(await stopLostRun(session, lost))) throw error;
      return { taskId, attemptId: lost.attemptId, stopped: true as const };
    }
    const running = (await queryAttempts(session, taskId)).at(-1);
    const ended =
      running === undefined
        ? undefined
        : await confirmed(endOf(session, { taskId, attemptId: running.attemptId }, notify), 'stop_unconfirmed', {
            taskId,
          });
    const status = await queryTask(session, taskId).then(
      (task) => task.status,
      () => undefined,
    );
    return {
      taskId,
      stopped: true as const,
      ...(ended !== undefined && { attemptId: ended.attemptId }),
      ...(typeof ended?.outcome === 'string' && { outcome: ended.outcome }),
      ...(status !== undefined && { taskStatus: status }),
    };
  }, taskId);
}

/** Refuses a stop of what does not run with what it waits for instead. */
async function refuseOpen(session: Session, taskId: string, known: Failure): Promise<never> {
  const handle = await taskHandle(session, taskId);
  const { attention } = await askWorker(session, () => handle.query(whyQuery));
  const id = shellWord(taskId);
  const next =
    attention === 'recovery'
      ? `It waits for a decision: \`perdure incident show ${id}\`.`
      : `Its outcome is open: \`perdure task complete ${id} --result ...\` or \`perdure task fail ${id} --reason ...\`.`;
  throw new RefusedError({ ...known, hint: [known.hint, next].filter(Boolean).join(' ') });
}

/** Waits until an attempt has ended, and until nothing of it runs where its executor had been lost. */
async function endOf(session: Session, key: AttemptKey, notify: Notify): Promise<Attempt> {
  const { attempt } = await followAttempt(session, key, notify);
  const handle = await taskHandle(session, key.taskId);
  while ((await patiently(() => askWorker(session, () => handle.query(carriedQuery)), notify)).stop !== null) {
    await sleep(LOOK_MS);
  }
  return attempt;
}

const LOOK_MS = 250;

/** Takes a task that only waits for its turn out of its project's queue. */
async function leaveQueue(session: Session, task: Task): Promise<boolean> {
  const projectId = projectOf(task);
  if (projectId === null) return false;
  const left = await outcomeOf(async () => ({ isOut: await withdrawTask(session, projectId, task.id) }));
  return left.success && left.isOut;
}
