import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { invalidArgument } from '../../contract/failures';
import { projectInputSchema, projectSchema, type Project, type ProjectInput } from '../../contract/project';
import { CARRIED_BYTES, utf8Length } from '../../contract/text';
import { refuse } from '../task-record/refusal';
import { registerProjectHandlers } from './handlers';
import { ProjectQueue } from './project-queue';
import { recover } from './recover';
import { start, startNext } from './start-next';
import { watchRuns } from './watch-runs';

/** Starts that a queue asks for at once; each takes a moment. */
const STARTS = 20;

/**
 * A project's queue: it starts the project's tasks by priority and age, so many at a time, and waits at no cost while
 * nothing runs. It never ends; it goes on as itself when this run has taken much. A cancellation request changes
 * nothing: a queue has no run of its own to stop.
 */
export async function project(input: ProjectInput): Promise<never> {
  const queue = new ProjectQueue(openProject(input), patched('2026-11-paced-starts') ? STARTS : Infinity);
  registerProjectHandlers(queue);
  return CancellationScope.nonCancellable(async () => {
    if (!('carried' in input)) await recover(queue);
    else for (const task of queue.project.starting) void start(queue, task);
    const watching = watchRuns(queue);
    while (!queue.isFull()) {
      await condition(() => queue.next() !== undefined || queue.isFull());
      startNext(queue);
    }
    queue.isHeld = true;
    // A start that is slow is asked for again by the next run, with the same request id.
    await condition(allHandlersFinished);
    watching.end();
    const next = { carried: queue.project };
    if (utf8Length(JSON.stringify(next)) > CARRIED_BYTES) throw new Error('the queue is too large to be carried over');
    return continueAsNew<typeof project>(next);
  });
}

function openProject(input: ProjectInput): Project {
  const parsed = projectInputSchema.safeParse(input);
  if (!parsed.success) {
    // A queue that was carried over is never given up: the task fails and is tried again on newer workers.
    if ('carried' in input) throw new Error(`the queue cannot be read: ${invalidArgument(parsed.error).error}`);
    return refuse(invalidArgument(parsed.error));
  }
  if ('carried' in parsed.data) return parsed.data.carried;
  const { tenantId, projectId } = parsed.data;
  return projectSchema.parse({ tenantId, id: projectId, origin: workflowInfo().runId });
}
