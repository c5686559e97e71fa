import { CancellationScope, condition } from '@temporalio/workflow';
import { noteUnconfirmedStop, stopOnHost } from '../dispatch-task/stop';
import { currentAttempt } from '../task-record/attempt';
import { now, type TaskRecord } from '../task-record/record';
import { stopLost } from '../task-record/stopping';

/** Whether a stop was accepted that waits for the host of a lost executor. */
export const owesStop = ({ carried }: TaskRecord): boolean => carried.stop !== null && carried.version > 3;

/**
 * Has the host end what may be left of a lost executor, then records the stop (US-6). The stop waits for the host; a
 * person's decision about the incident takes it back. It lets go when the task has something else to do.
 */
export async function endLost(record: TaskRecord, isNeeded: () => boolean): Promise<void> {
  const attempt = currentAttempt(record.carried);
  if (attempt === undefined) throw new Error('a stop is owed to a task that was never run');
  const scope = new CancellationScope();
  const stop = { isConfirmed: false };
  const ended = scope
    .run(() => stopOnHost(attempt))
    .then(
      () => (stop.isConfirmed = true),
      () => undefined,
    );
  const noting = noteUnconfirmedStop(record, attempt, stop);
  await condition(() => stop.isConfirmed || !owesStop(record) || isNeeded());
  scope.cancel();
  await ended;
  if (stop.isConfirmed) record.commit((carried) => stopLost(carried, now()));
  stop.isConfirmed = true;
  await noting;
}
