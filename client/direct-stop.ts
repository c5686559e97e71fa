import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateDefinition } from '@temporalio/common';
import {
  decideDirectSchema,
  decideDirectUpdate,
  stopDirectSchema,
  stopDirectUpdate,
  type DirectAnswer,
  type DirectTask,
} from '../contract/direct';
import { invalidArgument, type Outcome } from '../contract/failures';
import { directHandle, notFound, seeDirect } from './direct-record';
import { followDirect } from './direct-wait';
import { stopLostRun } from './lost-run';
import { outcomeOf, refuse, toFailure } from './outcome';
import { isClosed } from './send-update';
import { ask, type Session } from './session';
import { confirmed, type Notify } from './wait';

const ANSWER_MS = 20_000;
const TRIES = 5;
const PAUSE_MS = 100;

export interface StoppedDirect {
  readonly taskId: string;
  readonly status: DirectTask['status'];
  /** False when the task had ended before: nothing was changed. */
  readonly changed: boolean;
}

/** Stops a direct task and answers once nothing of it runs; one that has ended answers unchanged (DT-23). */
export async function stopDirect(
  session: Session,
  { id, reason }: { id: string; reason?: string },
  notify: Notify,
): Promise<Outcome<StoppedDirect>> {
  return outcomeOf(async () => {
    const request = stopDirectSchema.parse({ actor: session.actor, reason });
    let answer: DirectAnswer;
    try {
      answer = await send(session, id, { definition: stopDirectUpdate, request });
    } catch (error) {
      if (!isClosed(error)) throw error;
      return stopClosed(session, id);
    }
    const { direct } = await confirmed(followDirect(session, id, notify), 'direct_stop_failed', { taskId: id });
    return { taskId: id, status: direct.status, changed: answer.changed || answer.status === 'stopping' };
  }, id);
}

/** One whose workflow is closed: it ended, or somebody ended the workflow and its run may live on this host. */
async function stopClosed(session: Session, id: string): Promise<StoppedDirect> {
  const { direct } = await seeDirect(session, id);
  const { status, handle, endedAt } = direct;
  const lost = endedAt === null && handle !== null ? { ...handle, endedAt } : undefined;
  const isStopped = await stopLostRun(session, lost);
  return { taskId: id, status: isStopped ? 'stopped' : status, changed: isStopped };
}

/** Says what became of a direct task whose executor was lost. */
export async function decideDirect(
  session: Session,
  id: string,
  decision: { decision: 'accept' | 'abandon'; note?: string },
): Promise<Outcome<{ taskId: string; status: string }>> {
  const request = decideDirectSchema.safeParse({ actor: session.actor, ...decision });
  if (!request.success) return invalidArgument(request.error);
  return outcomeOf(async () => {
    try {
      const { status } = await send(session, id, { definition: decideDirectUpdate, request: request.data });
      return { taskId: id, status };
    } catch (error) {
      if (!isClosed(error)) throw error;
      return refuse('NOTHING_TO_DECIDE', `direct task ${id} has ended`, { taskId: id });
    }
  }, id);
}

interface Sent<Request> {
  readonly definition: UpdateDefinition<DirectAnswer, [Request]>;
  readonly request: Request;
}

/** Sends an update that sets something; it is sent again when it fell between two runs. */
async function send<R>(session: Session, id: string, { definition, request }: Sent<R>): Promise<DirectAnswer> {
  const updateId = randomUUID();
  const handle = await directHandle(session, id);
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask(session, ANSWER_MS, () => handle.executeUpdate(definition, { args: [request], updateId }));
    } catch (error) {
      const known = toFailure(error);
      const isLost = known?.code === 'TEMPORAL_REFUSED' && known.retryable === true;
      if (tries === TRIES || !isLost) notFound(id)(error);
    }
    await sleep(PAUSE_MS * tries);
  }
}
