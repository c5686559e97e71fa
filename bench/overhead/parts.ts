import { taskWorkflowId, threadWorkflowId } from '../../contract/names';
import type { Dispatched, Tasks } from './tasks';

/** A workflow that a path leaves. */
export interface Part {
  /** Which one it is, where a path has several. */
  readonly name?: string;
  readonly workflowId: string;
  /** The newest run of an earlier chain under the same id, which somebody ended. */
  readonly endedRunId?: string;
}

/** Takes a path to its end. */
export type Way = (tasks: Tasks, signal: AbortSignal) => Promise<Part[]>;

/** Names a task on the bench's stage. */
export const key = (tasks: Tasks, taskId: string) => ({ tenantId: tasks.stage.session.home.tenantId, taskId });

export const task = (tasks: Tasks, taskId: string, name?: string): Part => ({
  workflowId: taskWorkflowId(key(tasks, taskId)),
  ...(name !== undefined && { name }),
});

/** The stub's first run on a thread names the thread after its attempt. */
export const lease = ({ attemptId }: Dispatched): Part => ({
  name: 'resumeCodex',
  workflowId: threadWorkflowId(attemptId),
});

export const newestRun = async (tasks: Tasks, taskId: string) => (await (await tasks.handle(taskId)).describe()).runId;
