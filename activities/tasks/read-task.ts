import { taskWorkflowId, type TaskKey } from '../../contract/names';
import { taskSchema, type Task } from '../../contract/task';
import { isNotFound, type TaskServer } from './task-server';

/** Reads a task's record through its own query; null when there is no such task. */
export async function readTask(server: Pick<TaskServer, 'query'>, key: TaskKey): Promise<Task | null> {
  try {
    return taskSchema.parse(await server.query(taskWorkflowId(key), 'task'));
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
