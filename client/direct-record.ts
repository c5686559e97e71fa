import { WorkflowNotFoundError, type WorkflowExecutionDescription, type WorkflowHandle } from '@temporalio/client';
import { z } from 'zod';
import { directQuery, directTaskSchema, newDirectTaskSchema, type DirectTask } from '../contract/direct';
import type { Failure } from '../contract/failures';
import { directWorkflowId } from '../contract/names';
import { newDirectTask } from '../contract/new-direct';
import { shellWord } from '../contract/shell';
import { refuse, toFailure } from './outcome';
import { askWorker, isSilence, readInput } from './record';
import { call, taskKey, type Session } from './session';

/** A direct task as it is, or as it was last known when no worker answers. */
export interface ShownDirect {
  readonly direct: DirectTask;
  readonly warnings?: string[];
  /** Set when no worker answered: the record may be older than the truth. */
  readonly stale?: true;
}

/** A direct task as its newest run has it. */
export interface SeenDirect extends ShownDirect {
  readonly runId: string;
  /** Whether its workflow goes on. */
  readonly isOpen: boolean;
}

/** Handle of a direct task's workflow, of its newest run or of a given one. */
export async function directHandle(session: Session, id: string, runId?: string): Promise<WorkflowHandle> {
  const workflowId = directWorkflowId(taskKey(session, id));
  const client = await session.client();
  return client.workflow.getHandle(workflowId, runId, { followRuns: false });
}

/** Says in the words of this command that there is no such direct task. */
export function notFound(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof WorkflowNotFoundError) || toFailure(error)?.code !== 'TASK_NOT_FOUND') throw error;
    return refuse('TASK_NOT_FOUND', `there is no direct task ${id}`, {
      hint: 'List them with `perdure direct list`.',
      taskId: id,
    });
  };
}

/** Names the command for direct tasks where the id of one was given for a task that is not there. */
export async function hintAtDirect<F extends Failure>(session: Session, known: F): Promise<F> {
  const { code, taskId } = known;
  if (code !== 'TASK_NOT_FOUND' || taskId === undefined) return known;
  try {
    const handle = await directHandle(session, taskId);
    await call(session, () => handle.describe());
    return { ...known, hint: `There is a direct task of this id: \`perdure direct show ${shellWord(taskId)}\`.` };
  } catch {
    return known;
  }
}

/** Reads a direct task; one that has ended needs no worker for it, and an open one without a worker is marked. */
export async function seeDirect(session: Session, id: string): Promise<SeenDirect> {
  const handle = await directHandle(session, id);
  const run = await call(session, () => handle.describe()).catch(notFound(id));
  const { runId } = run;
  const status = run.status.name;
  const isOpen = status === 'RUNNING' || status === 'CONTINUED_AS_NEW';
  if (status === 'COMPLETED') return { direct: await resultOf(session, run), runId, isOpen };
  const ended = `its workflow was ended from outside (${status.toLowerCase()}); \`perdure direct stop\` ends what runs`;
  const seen = { runId, isOpen, ...(!isOpen && { warnings: [ended] }) };
  try {
    const exact = await directHandle(session, id, runId);
    return { direct: await askWorker(session, () => exact.query(directQuery)), ...seen };
  } catch (error) {
    if (!isSilence(error)) throw error;
    return { direct: await lastKnown(session, run), ...seen, stale: true };
  }
}

/** The result of a run that completed: its snapshot, from the history's last event. */
async function resultOf(session: Session, run: WorkflowExecutionDescription): Promise<DirectTask> {
  const result: unknown = await call(session, (client) =>
    client.workflow.getHandle(run.workflowId, run.runId, { followRuns: false }).result(),
  );
  return directTaskSchema.parse(result);
}

const inputSchema = z.union([
  z.object({ carried: directTaskSchema }).transform(({ carried }) => carried),
  z.object({ create: newDirectTaskSchema }).transform(({ create }) => create),
]);

/** What is known of an open task without a worker: what its run began with. */
async function lastKnown(session: Session, run: WorkflowExecutionDescription): Promise<DirectTask> {
  const input = inputSchema.safeParse(await readInput(session, run));
  if (!input.success) refuse('WORKER_SILENT', 'no worker answered, and the history holds no record that can be read');
  return 'status' in input.data ? input.data : newDirectTask(input.data);
}
