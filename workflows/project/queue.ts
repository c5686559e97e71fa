import {
  QUEUE_BYTES,
  QUEUE_LENGTH,
  type Project,
  type QueuedTask,
  type Room,
  type RunningTask,
  type StartingTask,
} from '../../contract/project';
import { bounded } from '../../contract/text';

/** Refusals that a queue remembers. */
const KEPT_REFUSALS = 20;

const RANK = { high: 0, medium: 1, low: 2 } as const;

/** Priority, then age; the id decides between twins, so that every replay decides alike. */
function isBefore(a: QueuedTask, b: QueuedTask): boolean {
  if (a.priority !== b.priority) return RANK[a.priority] < RANK[b.priority];
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.taskId < b.taskId;
}

/**
 * Puts a task in its place; one that is queued already keeps one place, with what was said last (MA13). A dispatch that
 * was on its way while the task began has come to that run; one that knows of the run has seen its end.
 */
export function enqueue(given: Project, task: QueuedTask): Project {
  const isSame = ({ taskId }: { taskId: string }) => taskId === task.taskId;
  const run = given.running.find(isSame);
  if (given.starting.some(isSame) || (run !== undefined && run.attemptId !== task.lastAttemptId)) return given;
  const project = run === undefined ? given : release(given, run.attemptId);
  const others = project.queue.filter(({ taskId }) => taskId !== task.taskId);
  const place = others.findIndex((other) => isBefore(task, other));
  const at = place === -1 ? others.length : place;
  return { ...project, queue: [...others.slice(0, at), task, ...others.slice(at)] };
}

/**
 * The task whose turn it is, while a slot is free; one that runs already keeps its place until it has settled. So many
 * `starts` are asked for at once: what a thousand answer at the same time is more than a worker and its server take.
 */
export function nextOf(
  { isPaused, limit, queue, starting, running }: Project,
  starts = Infinity,
): QueuedTask | undefined {
  if (isPaused || starting.length >= starts || running.length + starting.length >= limit) return undefined;
  const busy = new Set([...running, ...starting].map(({ taskId }) => taskId));
  return queue.find(({ taskId }) => !busy.has(taskId));
}

/** Whether the queue has room for one more task. */
export const roomOf = (project: Project): Room => ({
  isFull: project.queue.length >= QUEUE_LENGTH || JSON.stringify(project).length > QUEUE_BYTES,
  length: project.queue.length,
});

/** Takes a task out of the queue and gives it a slot for its start. */
export function take(project: Project, task: StartingTask): Project {
  return {
    ...project,
    serial: project.serial + 1,
    queue: project.queue.filter(({ taskId }) => taskId !== task.taskId),
    starting: [...project.starting, task],
  };
}

/** Ends a start: the slot goes to the run that came of it, or is free. */
export function endStart(project: Project, taskId: string, run: RunningTask | null): Project {
  return {
    ...project,
    starting: project.starting.filter((task) => task.taskId !== taskId),
    running: run === null ? project.running : [...project.running, run],
  };
}

/** Takes a task out of the queue without a run. */
export function withdraw(project: Project, taskId: string): Project {
  return { ...project, queue: project.queue.filter((task) => task.taskId !== taskId) };
}

/** Frees the slot of a run, whatever way it ended; an unknown one changes nothing. */
export function release(project: Project, attemptId: string): Project {
  return { ...project, running: project.running.filter((run) => run.attemptId !== attemptId) };
}

/** Remembers that a task left the queue without a run. */
export function noteRefusal(project: Project, refusal: Project['refused'][number]): Project {
  const entry = { ...refusal, error: bounded(refusal.error, 500) };
  return { ...project, refused: [...project.refused, entry].slice(-KEPT_REFUSALS) };
}
