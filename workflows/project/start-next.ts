import { ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { ProjectActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import type { ManagedStart, StartingTask } from '../../contract/project';
import { now } from '../task-record/record';
import type { ProjectQueue } from './project-queue';
import { endStart, noteRefusal, take } from './queue';

/** A dispatch on the project's behalf: idempotent by its request id, so it is tried until a worker answers. */
const { startManaged } = proxyActivities<ProjectActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
});

/** Begins the next task, if one may begin; its slot is held from now on. */
export function startNext(queue: ProjectQueue): void {
  const next = queue.next();
  if (next === undefined) return;
  const { origin, serial } = queue.project;
  const task = { ...next, requestId: `project:${origin}:${String(serial)}` };
  queue.change((project) => take(project, task));
  void start(queue, task);
}

/** Asks for the run of a task that holds its slot; asking again with the same request id comes to the same run. */
export async function start(queue: ProjectQueue, { requestId, ...queued }: StartingTask): Promise<void> {
  const { tenantId, id: projectId } = queue.project;
  const { taskId } = queued;
  const order = { task: { tenantId, taskId }, projectId, queued, requestId };
  const came = await startManaged(order).catch(refusedBy);
  const isRunning = came.kind === 'started' && !queue.hasSettled(came.attemptId);
  const run = isRunning ? { taskId, attemptId: came.attemptId, since: now() } : null;
  queue.change((project) => endStart(project, taskId, run));
  if (came.kind !== 'refused') return;
  queue.change((project) => noteRefusal(project, { taskId, code: came.code, error: came.error, at: now() }));
}

function refusedBy(error: unknown): ManagedStart {
  if (!(error instanceof ActivityFailure)) throw error;
  return { kind: 'refused', code: 'MANAGED_START_FAILED', error: error.cause?.message ?? error.message };
}
