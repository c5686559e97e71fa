import { parseTaskWorkflowId, SEARCH_ATTRIBUTE, visibilityText, type TaskKey } from '../../contract/names';
import { readTask } from './read-task';
import type { TaskServer } from './task-server';

/** Children of one task, at most (PD14), and some that were on their way. */
const CHILDREN = 200;

/** Refusals that say that a child needs nothing more. */
const DONE = ['TASK_STATUS_CONFLICT', 'TASK_NOT_RUNNING', 'TASK_TERMINAL', 'TASK_NOT_FOUND', 'AGENT_TASK_REQUIRED'];

/** Cancels the pending children of a cancelled task, and asks the running ones to stop (PD13). */
export async function cancelChildren(server: TaskServer, { tenantId, taskId }: TaskKey, actor: string): Promise<void> {
  const { parent, tenant, status } = SEARCH_ATTRIBUTE;
  const query =
    `ExecutionStatus = 'Running' AND ${tenant.name} = ${visibilityText(tenantId)} AND ${parent.name} = ${visibilityText(taskId)} ` +
    `AND ${status.name} IN ('pending', 'in_progress')`;
  for (const { workflowId } of await server.list(query, CHILDREN)) {
    const child = parseTaskWorkflowId(workflowId);
    if (child !== undefined) await cancelChild(server, child, { actor, parent: taskId });
  }
}

interface Cause {
  readonly actor: string;
  readonly parent: string;
}

async function cancelChild(server: TaskServer, child: TaskKey, { actor, parent }: Cause): Promise<void> {
  const requestId = `cancelled-with:${parent}:${child.taskId}`;
  const reason = `its parent ${parent} was cancelled`;
  // The list lags behind, so the task itself decides: it is still pending, or it runs, or it needs nothing.
  const task = await readTask(server, child);
  if (task === null) return;
  const outcome =
    task.status === 'pending'
      ? await server.update(child, 'setStatus', { requestId, actor, status: 'cancelled', summary: reason })
      : await server.update(child, 'stop', { requestId, actor, reason });
  if (!outcome.success && !DONE.includes(outcome.code)) throw new Error(`${outcome.code}: ${outcome.error}`);
}
