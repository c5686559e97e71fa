import type { OrphanActivities, ProjectActivities, TaskActivities } from '../../contract/activities';
import {
  DEPENDENCIES_BYTES,
  DEPENDENCY_BYTES,
  PARENT_BYTES,
  refuseChildren,
  refuseRelations,
  type RelatedTask,
} from '../../contract/relation';
import type { Task } from '../../contract/task';
import { cutUtf8, utf8Length } from '../../contract/text';
import { cancelChildren, countChildren } from './children';
import { createOrphanActivities } from './orphans';
import { createProjectActivities } from './projects';
import { readTask } from './read-task';
import type { TaskServer } from './task-server';

/** Makes the activities that look at other tasks and tell them things. */
export function createTaskActivities(server: TaskServer): TaskActivities & ProjectActivities & OrphanActivities {
  return {
    ...createProjectActivities(server),
    ...createOrphanActivities(server),
    cancelChildren: ({ task, actor }) => cancelChildren(server, task, actor),
    async readRelations({ tenantId, parentId, dependencies }) {
      const read = (taskId: string) => readTask(server, { tenantId, taskId });
      const parent = parentId === null ? null : await read(parentId);
      const related = await Promise.all(dependencies.map(async (id) => [id, await read(id)] as const));
      return {
        // A parent that is gone costs the worker a section, and the task nothing (PD11).
        parent: parent === null ? null : shown(parent.id, parent, cut(parent.description ?? '', PARENT_BYTES)),
        dependencies: withinBudget(related),
      };
    },
    async checkRelations({ task: { tenantId, taskId: id }, parentId, dependencies }) {
      const read = (taskId: string) => readTask(server, { tenantId, taskId });
      const related = { id, parentId: parentId ?? undefined, dependencies };
      const refusal = await refuseRelations(related, read);
      if (refusal !== null || parentId === null) return refusal;
      // A child that stays one counts itself; a full family may not take another one in.
      const isChild = (await read(id))?.parentId === parentId;
      return isChild ? null : refuseChildren(related, await countChildren(server, { tenantId, taskId: parentId }));
    },
  };
}

function withinBudget(related: readonly (readonly [string, Task | null])[]): RelatedTask[] {
  let room = DEPENDENCIES_BYTES;
  return related.map(([id, task]) => {
    const text = cut(task?.result ?? '', Math.min(DEPENDENCY_BYTES, room));
    room = Math.max(0, room - utf8Length(text));
    return shown(id, task, text);
  });
}

const shown = (id: string, task: Task | null, text: string): RelatedTask => ({
  id,
  status: task?.status ?? null,
  title: task?.title ?? '',
  text,
});

/** Cuts a text with a mark that says so (WM10). */
function cut(text: string, bytes: number): string {
  const kept = cutUtf8(text, bytes);
  return kept === text ? text : `${kept}\n[cut]`;
}
