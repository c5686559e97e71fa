import { randomUUID } from 'node:crypto';
import type { UpdateDefinition } from '@temporalio/common';
import { refuse, toFailure } from './outcome';
import { ask, taskHandle, type Session } from './session';

/** Milliseconds until a worker has accepted a request, and until it has answered an accepted one. */
const ACCEPT_MS = 20_000;
const ANSWER_MS = 120_000;

interface Sent<Answer, Request> {
  readonly definition: UpdateDefinition<Answer, [Request]>;
  readonly request: Request;
}

/** Sends an update to a task and answers what its worker says; the request id is the update's id (GN10). */
export async function sendUpdate<Answer, Request extends { requestId?: string | undefined }>(
  session: Session,
  taskId: string,
  { definition, request }: Sent<Answer, Request>,
): Promise<Answer> {
  const updateId = request.requestId ?? randomUUID();
  const args: [Request] = [{ ...request, requestId: updateId }];
  const handle = await taskHandle(session, taskId);
  try {
    const options = { args, updateId, waitForStage: 'ACCEPTED' } as const;
    const accepted = await ask(session, ACCEPT_MS, () => handle.startUpdate(definition, options));
    return await ask(session, ANSWER_MS, () => accepted.result());
  } catch (error) {
    if (toFailure(error)?.code !== 'WORKER_SILENT') throw error;
    return refuse('WORKER_SILENT', 'no worker answered in time; one that comes back may still take up the request', {
      hint: 'Start one with `perdure up` or `perdure worker`, then look at the task before you send it again.',
    });
  }
}
