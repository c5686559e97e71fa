import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UpdateDefinition } from '@temporalio/common';
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { refuse, RefusedError, toFailure } from './outcome';
import { refusalOfUnbegun } from './record';
import { ask, call, taskHandle, type Session } from './session';

/** Milliseconds until a worker has accepted a request, and until it has answered an accepted one. */
const ACCEPT_MS = 20_000;
const ANSWER_MS = 120_000;
/** How often a request that fell between two phases is sent, and the pause that grows with each try. */
const TRIES = 5;
const PAUSE_MS = 100;

interface Sent<Answer, Request> {
  readonly definition: UpdateDefinition<Answer, [Request]>;
  readonly request: Request;
}

/** Sends an update to a task and answers what its worker says; the request id and its content make the update's id (GN10). */
export async function sendUpdate<Answer, Request extends { requestId?: string | undefined }>(
  session: Session,
  taskId: string,
  { definition, request }: Sent<Answer, Request>,
): Promise<Answer> {
  const requestId = request.requestId ?? randomUUID();
  // The server answers an update id that it knows by itself: other content must come to the worker, which refuses it.
  const digest = session.plan().payloads.digest(JSON.stringify([definition.name, request]));
  const updateId = `${requestId}/${digest.slice(0, 16)}`;
  const args: [Request] = [{ ...request, requestId }];
  for (let tries = 1; ; tries += 1) {
    try {
      return await sendOnce(session, taskId, (handle) =>
        handle.startUpdate(definition, { args, updateId, waitForStage: 'ACCEPTED' }),
      );
    } catch (error) {
      if (tries === 1 && isClosed(error)) await refuseUnbegun(session, taskId);
      if (tries === TRIES || !isLostInPhaseChange(error)) throw error;
    }
    await sleep(PAUSE_MS * tries);
  }
}

/** Says of a task that never began that it did not, where its closed workflow takes no request. */
async function refuseUnbegun(session: Session, taskId: string): Promise<void> {
  const handle = await taskHandle(session, taskId);
  const unbegun = await refusalOfUnbegun(session, taskId, await call(session, () => handle.describe()));
  if (unbegun !== null) throw new RefusedError(unbegun);
}

/** Whether a request fell between two phases; its id makes sending it again harmless. */
function isLostInPhaseChange(error: unknown): boolean {
  const known = toFailure(error);
  // A closed run may be followed by the next phase in a moment; one that is closed for good only costs the tries.
  return isClosed(error) || (known?.code === 'TEMPORAL_REFUSED' && known.retryable === true);
}

/** Whether a request was refused because somebody has ended the task's workflow from outside. */
export const isClosed = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError && toFailure(error)?.code === 'TASK_TERMINAL';

type Start<Answer> = (handle: WorkflowHandle) => Promise<{ result(): Promise<Answer> }>;

async function sendOnce<Answer>(session: Session, taskId: string, start: Start<Answer>): Promise<Answer> {
  const handle = await taskHandle(session, taskId);
  try {
    const accepted = await ask(session, ACCEPT_MS, () => start(handle));
    return await ask(session, ANSWER_MS, () => accepted.result());
  } catch (error) {
    if (toFailure(error)?.code !== 'WORKER_SILENT') throw error;
    return refuse('WORKER_SILENT', 'no worker answered in time; one that comes back may still take up the request', {
      hint: 'Start one with `perdure up` or `perdure worker`, then look at the task before you send it again.',
    });
  }
}
