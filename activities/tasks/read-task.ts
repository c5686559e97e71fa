import { taskWorkflowId, type TaskKey } from '../../contract/names';
import { taskSchema, type Task } from '../../contract/task';

/** The part of a Temporal client that reading a record needs. */
export interface TaskReader {
  /** Asks a workflow; rejects with an error named `WorkflowNotFoundError` when there is none. */
  query(workflowId: string, name: string): Promise<unknown>;
}

/** Reads a task's record through its own query; null when there is no such task. */
export async function readTask(reader: TaskReader, key: TaskKey): Promise<Task | null> {
  try {
    return taskSchema.parse(await reader.query(taskWorkflowId(key), 'task'));
  } catch (error) {
    if (error instanceof Error && error.name === 'WorkflowNotFoundError') return null;
    throw error;
  }
}
