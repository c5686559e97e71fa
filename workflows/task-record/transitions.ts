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

/** Everything that may follow what, and who may say so: section 3 of the rules, row by row. */
const TABLE: readonly Row[] = [
  { from: ['pending', 'interrupted', 'failed'], to: 'in_progress', by: 'a dispatch, or the run itself' },
  { from: ['completed', 'cancelled'], to: 'in_progress', by: 'a reopening' },
  { from: ['in_progress'], to: 'completed', by: 'worker or caller, with a result' },
  { from: ['in_progress'], to: 'failed', by: 'worker, caller or engine, with a reason' },
  { from: ['in_progress'], to: 'interrupted', by: 'worker, caller or engine, with a summary' },
  { from: ['in_progress'], to: 'review', by: 'a completion that requires review' },
  { from: ['review'], to: 'completed', by: 'a person' },
  { from: ['review'], to: 'interrupted', by: 'a person, who sends it back' },
  { from: ['pending', 'in_progress', 'review', 'failed', 'interrupted'], to: 'cancelled', by: 'owner or person' },
];

interface Row {
  readonly from: readonly TaskStatus[];
  readonly to: TaskStatus;
  readonly by: string;
}

export const isTerminal = (status: TaskStatus): boolean => status === 'completed' || status === 'cancelled';

/** Refuses a transition that the table does not know (TS13, TS20). */
export function refuseTransition(task: Task, to: TaskStatus): Failure {
  return failure('TASK_STATUS_CONFLICT', `a task that is ${task.status} cannot become ${to}`, {
    hint: `The task is ${task.status} since ${task.statusSince}.`,
    taskId: task.id,
  });
}

export const mayBecome = (task: Task, to: TaskStatus): boolean =>
  TABLE.some((row) => row.to === to && row.from.includes(task.status));

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
