import { failure, type Failure } from '../../contract/failures';
import type { Carried } from '../../contract/run';
import type { ActivityEntry, Task, TaskStatus } from '../../contract/task';

/** A command's effect: the record after it and the answer, or a refusal that changes nothing. */
export type Step<A> = { readonly carried: Carried; readonly answer: A } | Failure;

export const isRefusal = (step: object): step is Failure => 'success' in step && step.success === false;

/** Who did something, and when. */
export interface Stamp {
  readonly at: string;
  readonly actor: string;
}

/** Which statuses each status may follow (TS table); `pending` only follows creation. */
const FROM: Record<TaskStatus, readonly TaskStatus[]> = {
  pending: [],
  in_progress: ['pending', 'interrupted', 'failed', 'review', 'completed', 'cancelled'],
  completed: ['in_progress', 'review'],
  failed: ['in_progress'],
  interrupted: ['in_progress', 'review'],
  review: ['in_progress'],
  cancelled: ['pending', 'in_progress', 'review', 'failed', 'interrupted'],
};

export const isTerminal = (status: TaskStatus): boolean => status === 'completed' || status === 'cancelled';

/** Refuses a transition that the table does not know (TS13, TS20). */
export function refuseTransition(task: Task, to: TaskStatus): Failure {
  return failure('TASK_STATUS_CONFLICT', `a task that is ${task.status} cannot become ${to}`, {
    hint: `The task is ${task.status} since ${task.statusSince}.`,
    taskId: task.id,
  });
}

export const mayBecome = (task: Task, to: TaskStatus): boolean => FROM[to].includes(task.status);

/** Everything that one transition writes at once (TS14). */
export interface Transition {
  readonly to: TaskStatus;
  readonly summary: string;
  readonly detail: ActivityEntry['detail'];
  readonly fields?: Partial<Task>;
  readonly executionResultId?: string | undefined;
}

/** Applies a transition whose start was checked: status, fields and exactly one activity together (TS15). */
export function transit(carried: Carried, transition: Transition, { at, actor }: Stamp): Carried {
  const { to, summary, detail, fields, executionResultId } = transition;
  const from = carried.task.status;
  const moved: Task = { ...carried.task, ...fields, status: to, statusSince: at };
  const entry = {
    at,
    actor,
    summary,
    detail: { ...detail, from, to },
    ...(executionResultId !== undefined && { executionResultId }),
  };
  // What waited for dependencies was meant for the status before; children are cancelled with their parent (PD13).
  return append({ ...carried, task: moved, awaiting: null, owesCancel: to === 'cancelled' }, entry);
}

/** Appends one activity; entries are numbered over the task's whole life. */
export function append(carried: Carried, entry: Omit<ActivityEntry, 'id'>): Carried {
  const number = carried.archived.activities + carried.task.activities.length + 1;
  const activities = [...carried.task.activities, { id: `a-${String(number)}`, ...entry }];
  return { ...carried, task: { ...carried.task, activities, updatedAt: entry.at } };
}
