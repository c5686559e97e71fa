import { condition, proxyActivities } from '@temporalio/workflow';
import type { ProjectActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import type { ProjectQueue } from './project-queue';

/** How often runs are looked at that may have ended without a word; only while some are there. */
const LOOK = '2 minutes';

const { findSettled } = proxyActivities<ProjectActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Frees the slots of runs whose word was lost: a workflow that was ended from outside, a queue that was away. */
export function watchRuns(queue: ProjectQueue): { end(): void } {
  const state = { isEnding: false };
  const isEnding = () => state.isEnding;
  void (async () => {
    for (;;) {
      await condition(() => isEnding() || queue.project.running.length > 0);
      if (isEnding() || (await condition(isEnding, LOOK))) return;
      await freeSettled(queue);
    }
  })();
  return {
    end: () => {
      state.isEnding = true;
    },
  };
}

/** Frees the slots of runs that have settled without a word. */
export async function freeSettled(queue: ProjectQueue): Promise<void> {
  const { tenantId, running } = queue.project;
  if (running.length === 0) return;
  // One that cannot be asked keeps its slot, until the next look.
  const settled = await findSettled({ tenantId, running }).catch(() => []);
  for (const attemptId of settled) queue.free(attemptId);
}
