import { parseTaskWorkflowId, SEARCH_ATTRIBUTE, visibilityText, type TaskKey } from '../../contract/names';
import { CHILDREN } from '../../contract/relation';
import { readTask } from './read-task';
import type { TaskServer } from './task-server';

/** Refusals that say that a child needs nothing more. */
const DONE = ['TASK_STATUS_CONFLICT', 'TASK_NOT_RUNNING', 'TASK_TERMINAL', 'TASK_NOT_FOUND', 'AGENT_TASK_REQUIRED'];

/** Cancels the pending children of a cancelled task, and asks the running ones to stop (PD13). */
export async function cancelChildren(server: TaskServer, task: TaskKey, actor: string): Promise<void> {
  const { name } = SEARCH_ATTRIBUTE.status;
  const query = `${childrenOf(task)} AND ${name} IN ('pending', 'in_progress')`;
  const troubles: unknown[] = [];
  // Twice as many as there may be: the bound is checked against a list that lags behind.
  for (const { workflowId } of await server.list(query, 2 * CHILDREN)) {
    const child = parseTaskWorkflowId(workflowId);
    if (child === undefined) continue;
    await cancelChild(server, child, { actor, parent: task.taskId }).catch((error: unknown) => troubles.push(error));
  }
  // One that does not answer keeps nobody else from being cancelled.
  if (troubles.length > 0) throw troubles[0];
}

/** How many children a task has now, as visibility knows; it counts to the bound and no further. */
export const countChildren = async (server: TaskServer, parent: TaskKey): Promise<number> =>
  (await server.list(childrenOf(parent), CHILDREN)).length;

function childrenOf({ tenantId, taskId }: TaskKey): string {
  const { parent, tenant } = SEARCH_ATTRIBUTE;
  const scope = `${tenant.name} = ${visibilityText(tenantId)} AND ${parent.name} = ${visibilityText(taskId)}`;
  return `ExecutionStatus = 'Running' AND ${scope}`;
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
