import { ActivityFailure, proxyActivities } from '@temporalio/workflow';
import type { ProviderActivities } from '../../contract/activities';
import { snapshotSchema, type Snapshot } from '../../contract/incident';
import { hostQueue } from '../../contract/names';
import type { Attempt, Carried } from '../../contract/run';
import { currentAttempt } from '../task-record/attempt';
import { openIncident } from '../task-record/decisions';
import { saveSnapshot } from '../task-record/incidents';
import type { TaskRecord } from '../task-record/record';

/** Keeps what is left of an attempt whose executor was lost with its incident, as far as its host answers in time. */
export async function saveLostEvidence(record: TaskRecord): Promise<void> {
  const attempt = currentAttempt(record.carried);
  const isLost = record.carried.version > 2 && attempt?.outcome === 'interrupted_owner';
  if (!isLost) return;
  const snapshot = await readSnapshot(record.carried, attempt);
  record.conclude((carried) => ({
    ...carried,
    incidents: saveSnapshot(carried.incidents, openIncident(carried), snapshot),
  }));
}

async function readSnapshot({ task }: Carried, { attemptId, hostId }: Attempt): Promise<Snapshot | null> {
  const { saveEvidence } = proxyActivities<ProviderActivities>({
    taskQueue: hostQueue(hostId),
    scheduleToStartTimeout: '30 seconds',
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: 3 },
  });
  try {
    const given = await saveEvidence({ attemptId, task: { tenantId: task.tenantId, taskId: task.id } });
    return snapshotSchema.safeParse(given).data ?? null;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return null;
  }
}
