import { proxyActivities } from '@temporalio/workflow';
import type { ProjectActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { enqueue } from './queue';
import type { ProjectQueue } from './project-queue';
import { start } from './start-next';
import { freeSettled } from './watch-runs';

/** Until the queue knows what runs already, it must start nothing: tried until the answer is there. */
const { recoverProject } = proxyActivities<ProjectActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
});

/** Takes over what a queue of this project knew that somebody ended from outside: nothing of it is lost or doubled. */
export async function recover(queue: ProjectQueue): Promise<void> {
  queue.isHeld = true;
  const { tenantId, id: projectId } = queue.project;
  const earlier = await recoverProject({ tenantId, projectId });
  if (earlier !== null) {
    const { limit, isPaused, running, starting, refused } = earlier;
    const known = { limit, isPaused, running, starting, refused, ...queue.settings };
    // What came in meanwhile is the newer word.
    queue.change((project) =>
      [...earlier.queue, ...project.queue].reduce(enqueue, { ...project, ...known, queue: [] }),
    );
    // What was about to start may have started: its slot is taken, and asking again finds out.
    for (const task of starting) void start(queue, task);
    // Ends that came while no queue was there have told nobody.
    await freeSettled(queue);
  }
  queue.change((project) => ({ ...project, isRecovered: true }));
  queue.isHeld = false;
}
