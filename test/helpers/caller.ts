import type { Client, WorkflowHandle } from '@temporalio/client';
import { dispatchTask, waitSettled, type Session, type Settled } from '../../client/index';
import type { Outcome } from '../../contract/failures';
import type { Stage } from './stage';

/** A session as a caller has one on a machine where the provider is installed, on its own client where one is given. */
export function callerOf(stage: Stage, client: Client = stage.client): Session {
  return { ...stage.session, env: { PERDURE_CODEX_BIN: process.execPath }, client: () => Promise.resolve(client) };
}

/** A session whose handles behave otherwise in what `change` names. */
export function withHandles(session: Session, change: (handle: WorkflowHandle) => Partial<WorkflowHandle>): Session {
  const client = async (): Promise<Client> => {
    const real = await session.client();
    const getHandle: Client['workflow']['getHandle'] = (...given) => {
      const handle = real.workflow.getHandle(...given);
      return { ...handle, ...change(handle) };
    };
    const workflow = Object.create(real.workflow, { getHandle: { value: getHandle } }) as Client['workflow'];
    return Object.create(real, { workflow: { value: workflow } }) as Client;
  };
  return { ...session, client };
}

/** Waits for the settled result of an attempt. */
export const waitFor = (session: Session, key: { taskId: string; attemptId: string }): Promise<Outcome<Settled>> =>
  waitSettled(session, key, () => undefined);

/** Dispatches a task that nobody manages and waits for what becomes of it: the one call of the specification. */
export async function runToEnd(session: Session, taskId: string): Promise<Outcome<Settled>> {
  const answer = await dispatchTask(session, { taskId });
  if (!answer.success) return answer;
  if (!('attemptId' in answer)) throw new Error(`no run began: ${JSON.stringify(answer)}`);
  return waitFor(session, { taskId, attemptId: answer.attemptId });
}
