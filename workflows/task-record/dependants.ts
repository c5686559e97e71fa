import type { Carried } from '../../contract/run';

/** Workflows that one task tells of its completion, at most. */
const DEPENDANTS = 1_000;

/** Adds a workflow that waits for this task: a task of the same tenant, once. */
export function addDependant(carried: Carried, workflowId: string): Carried {
  const { dependants, task } = carried;
  const isTask = typeof workflowId === 'string' && workflowId.startsWith(`task/${task.tenantId}/`);
  if (!isTask || dependants.includes(workflowId)) return carried;
  // The longest waiting ones go first when there are too many: they look again whenever something else wakes them.
  return { ...carried, dependants: [...dependants, workflowId].slice(-DEPENDANTS) };
}
