import { defineSignal } from '@temporalio/workflow';
import { z } from 'zod';
import { failure, type Failure } from './failures';
import { id } from './text';
import { taskStatus, type Task } from './task';

/** Bounds of what a worker's message shows of other tasks, in bytes (WM10). */
export const PARENT_BYTES = 8 * 1024;
export const DEPENDENCY_BYTES = 4 * 1024;
export const DEPENDENCIES_BYTES = 32 * 1024;

/** How deep tasks may nest (PD14). */
const DEPTH = 8;
/** Children of one task, at most (PD14). */
export const CHILDREN = 100;
/** Tasks that a look for circles visits at most. */
const VISITED = 1_000;

/** Another task as it matters to the one that is related to it; null fields when there is no such task. */
export const relatedTaskSchema = z.strictObject({
  id,
  status: taskStatus.nullable(),
  title: z.string(),
  /** A parent's description or a dependency's result, cut to its bound. */
  text: z.string(),
});
export type RelatedTask = z.infer<typeof relatedTaskSchema>;

/** What a dispatch found out about a task's parent and dependencies. */
export const relationsSchema = z.strictObject({
  parent: relatedTaskSchema.nullable(),
  dependencies: z.array(relatedTaskSchema),
});
export type Relations = z.infer<typeof relationsSchema>;

export const NO_RELATIONS: Relations = { parent: null, dependencies: [] };

/** Whether a task is related to any other. */
export const hasRelations = ({ parentId, dependencies = [] }: MayBeRelated): boolean =>
  parentId !== undefined || dependencies.length > 0;

interface MayBeRelated {
  readonly parentId?: string | undefined;
  readonly dependencies?: readonly string[] | undefined;
}

/** Refuses a dispatch while a dependency is not completed (PD7, PD9); a missing one will not come by itself. */
export function refuseDependencies(taskId: string, { dependencies }: Relations): Failure | null {
  const open = dependencies.filter(({ status }) => status !== 'completed');
  if (open.length === 0) return null;
  const states = open.map(({ id: other, status }) => `${other} is ${status ?? 'not there'}`).join(', ');
  return failure('TASK_DEPENDENCIES_INCOMPLETE', `task ${taskId} waits for ${open.map((each) => each.id).join(', ')}`, {
    hint: `${states}. A failed or cancelled one has to be completed, or taken out with task update --depends-on or --no-depends-on.`,
    retryable: open.every(({ status }) => status !== null),
    taskId,
  });
}

/** Refuses one child more than a parent may have (PD14); the count comes from visibility and may lag a moment. */
export function refuseChildren(task: Related, siblings: number): Failure | null {
  if (task.parentId === undefined || siblings < CHILDREN) return null;
  const error = `task ${task.parentId} has ${String(siblings)} children, and may have ${String(CHILDREN)}`;
  return failure('INVALID_ARGUMENT', error, { taskId: task.id });
}

/** The relations of one task, or null when there is no such task. */
export type ReadRelations = (taskId: string) => Promise<Pick<Task, 'parentId' | 'dependencies'> | null>;

/** A task with the relations that it would have. */
export interface Related {
  readonly id: string;
  readonly parentId?: string | undefined;
  readonly dependencies: readonly string[];
}

/** What is wrong with a task's relations, or null: unknown tasks, circles, an ancestor as dependency, too deep (PD10, PD14). */
export async function refuseRelations(task: Related, read: ReadRelations): Promise<Failure | null> {
  const about = { taskId: task.id };
  const ancestors = await ancestorsOf(task, read);
  if ('code' in ancestors) return { ...ancestors, ...about };
  const seen = new Set<string>();
  const open = [...task.dependencies];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === task.id || ancestors.ids.includes(next)) {
      return failure(
        'DEPENDENCY_CYCLE',
        `task ${task.id} would wait for itself or for an ancestor, through ${next}`,
        about,
      );
    }
    if (seen.has(next) || seen.size >= VISITED) continue;
    seen.add(next);
    const found = await read(next);
    if (found === null && task.dependencies.includes(next)) {
      return failure('INVALID_ARGUMENT', `dependencies names ${next}, which does not exist`, about);
    }
    open.push(...(found?.dependencies ?? []));
  }
  return null;
}

async function ancestorsOf(
  { id: taskId, parentId }: Related,
  read: ReadRelations,
): Promise<{ ids: string[] } | Failure> {
  const ids: string[] = [];
  for (let next = parentId; next !== undefined;) {
    if (next === taskId || ids.includes(next)) return failure('DEPENDENCY_CYCLE', `${next} would be its own ancestor`);
    const found = await read(next);
    if (found === null) {
      if (ids.length > 0) break;
      return failure('INVALID_ARGUMENT', `parentId names ${next}, which does not exist`);
    }
    ids.push(next);
    if (ids.length > DEPTH) return failure('INVALID_ARGUMENT', `tasks nest at most ${String(DEPTH)} deep`);
    next = found.parentId;
  }
  return { ids };
}

/** Another workflow waits for this task: it hears of the completion. */
export const dependantAddedSignal = defineSignal<[string]>('dependantAdded');
/** A task that this one depends on has completed. */
export const dependencyCompletedSignal = defineSignal<[string]>('dependencyCompleted');
