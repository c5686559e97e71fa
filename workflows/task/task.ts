import { CancellationScope, condition } from '@temporalio/workflow';
import type { PhaseInput } from '../../contract/new-task';
import { goOn } from '../task-record/phase';
import { registerHandlers } from '../task-record/handlers';
import { openRecord, type TaskRecord } from '../task-record/record';
import { nextErrand } from './errands';
import { restingRules } from './resting-rules';

/**
 * A task at rest: it holds the record, answers, and waits at no cost. It ends by becoming the phase that an accepted
 * dispatch or reopening asks for, or by going on as itself when this run has taken many updates or the record grew.
 * Meanwhile it does what it owes to related tasks. A cancellation request changes nothing here: there is no run to stop.
 */
export async function task(input: PhaseInput): Promise<never> {
  const record = openRecord('task', input);
  registerHandlers(record, restingRules(record));
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => isLeaving(record) || nextErrand(record) !== undefined);
      if (isLeaving(record)) return goOn(record);
      await nextErrand(record)?.();
    }
  });
}

const isLeaving = (record: TaskRecord): boolean => record.carried.intent !== null || record.isFull();
