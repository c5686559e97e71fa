import { CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import type { ProviderActivities } from '../../contract/activities';
import { hostQueue } from '../../contract/names';
import type { Attempt } from '../../contract/run';
import { now, type TaskRecord } from '../task-record/record';
import { addIncident } from '../task-record/incidents';
import { requestStop } from '../task-record/stopping';
import { isRefusal } from '../task-record/transitions';
import { stopIncident } from '../task-record/decisions';

/** Ends an attempt's processes on its host. Idempotent, and retried until the host has answered: a stop is never lost. */
export async function stopOnHost({ attemptId, hostId }: Pick<Attempt, 'attemptId' | 'hostId'>): Promise<void> {
  const { stopRun } = proxyActivities<ProviderActivities>({
    taskQueue: hostQueue(hostId),
    startToCloseTimeout: '2 minutes',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '30 seconds' },
  });
  await stopRun({ attemptId, reason: 'user' });
}

/** Ends an attempt on its host as soon as a stop is accepted, unless the run is over by then. */
export async function stopWhenAsked(
  isAsked: () => boolean,
  attempt: Pick<Attempt, 'attemptId' | 'hostId'>,
  run: { readonly isOver: boolean },
): Promise<void> {
  await condition(() => isAsked() || run.isOver);
  if (!run.isOver) await stopOnHost(attempt);
}

/** Milliseconds in which a host has to confirm that nothing of a stopped attempt is left (US-11). */
export const CONFIRM_MS = 30_000;

/** Records that a host has not confirmed a stop in time; the stop stays, and goes on being tried. */
export async function noteUnconfirmedStop(
  record: TaskRecord,
  { attemptId, hostId }: Attempt,
  /** Whether there is nothing more to confirm. */
  over: { readonly isConfirmed: boolean },
): Promise<void> {
  await condition(() => record.carried.stop !== null || over.isConfirmed);
  const { stop } = record.carried;
  if (stop === null || over.isConfirmed || stopIncident(record.carried) !== undefined) return;
  const left = Date.parse(stop.at) + CONFIRM_MS - Date.parse(now());
  if (await condition(() => over.isConfirmed, Math.max(left, 1))) return;
  const evidence = [`host ${hostId} has not confirmed within 30 s that nothing of attempt ${attemptId} runs`];
  record.commit((carried) => addIncident(carried, { code: 'stop_unconfirmed', at: now(), evidence }));
}

/** Calls back when an operator cancels this workflow. */
export function onCancellation(callback: () => void): void {
  CancellationScope.current().cancelRequested.catch(callback);
}

/** An operator's `temporal workflow cancel` is a stop. */
export function stopOnCancellation(record: TaskRecord): void {
  onCancellation(() => {
    const stop = { actor: 'operator (workflow cancel)', reason: 'the workflow was cancelled' };
    record.commit((carried) => {
      const step = requestStop(carried, stop, now());
      return isRefusal(step) ? carried : step.carried;
    });
  });
}
