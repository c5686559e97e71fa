import type { Outcome } from '../contract/failures';
import { hasRelations, refuseChildren, refuseRelations } from '../contract/relation';
import type { NewTask, Task } from '../contract/task';
import { findTasks, listQuery, type ListedTask } from './list';
import { outcomeOf, RefusedError } from './outcome';
import { queryTask, readRecord } from './record';
import { call, type Session } from './session';

/** Refuses a new task whose parent or dependencies cannot be (PD10, PD14). */
export async function checkNewRelations(session: Session, newTask: NewTask): Promise<void> {
  if (!hasRelations(newTask)) return;
  const { id, parentId, dependencies = [] } = newTask;
  const task = { id, parentId, dependencies };
  const refusal =
    (await refuseRelations(task, (taskId) => readTask(session, taskId))) ??
    (parentId === undefined ? null : refuseChildren(task, await countChildren(session, parentId)));
  if (refusal !== null) throw new RefusedError(refusal);
}

async function countChildren(session: Session, parent: string): Promise<number> {
  const query = listQuery(session.home.tenantId, { parent });
  return (await call(session, (client) => client.workflow.count(query))).count;
}

async function readTask(session: Session, taskId: string): Promise<Task | null> {
  try {
    return await queryTask(session, taskId);
  } catch (error) {
    if (error instanceof RefusedError || !(error instanceof Error) || error.name !== 'WorkflowNotFoundError')
      throw error;
    return null;
  }
}

/** Facts about the dependencies that a task still waits for: which, and what state each is in. */
export async function blockingFacts(session: Session, { status, dependencies }: Task): Promise<string[]> {
  if (status === 'completed' || status === 'cancelled' || status === 'in_progress') return [];
  const states = await Promise.all(
    dependencies.map(async (taskId) => ({ taskId, status: (await readTask(session, taskId))?.status ?? 'not there' })),
  );
  return states
    .filter((other) => other.status !== 'completed')
    .map((other) => `blocked by ${other.taskId}, which is ${other.status}`);
}

/** A task with the tasks below it. */
export interface TaskTree {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly children: TaskTree[];
}

/** Shows a task and all tasks below it; children come from the list, which lags a moment behind. */
export async function treeOfTask(session: Session, taskId: string): Promise<Outcome<{ tree: TaskTree }>> {
  return outcomeOf(async () => {
    const { task } = await readRecord(session, taskId);
    const { id, title, status } = task;
    return { tree: { id, title, status, children: await childrenOf(session, id, new Set([id])) } };
  }, taskId);
}

async function childrenOf(session: Session, parent: string, seen: Set<string>): Promise<TaskTree[]> {
  const { tasks } = await findTasks(session, { parent, limit: 1_000 });
  const fresh = tasks.filter(({ id }) => !seen.has(id)).sort(byId);
  for (const { id } of fresh) seen.add(id);
  const trees: TaskTree[] = [];
  for (const { id, title, status } of fresh) {
    trees.push({ id, title, status, children: await childrenOf(session, id, seen) });
  }
  return trees;
}

const byId = (a: ListedTask, b: ListedTask): number => (a.id < b.id ? -1 : 1);
