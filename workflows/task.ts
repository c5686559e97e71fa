import { CancellationScope, condition } from '@temporalio/workflow';
import type { PhaseInput } from '../contract/new-task';
import { convergeOrphan } from './dispatch-task/converge';
import { goOn } from './task-record/phase';
import { registerHandlers } from './task-record/handlers';
import { openRecord } from './task-record/record';

/**
 * A task at rest: it holds the record, answers, and waits at no cost. It ends by becoming the phase that an accepted
 * dispatch or reopening asks for, or by going on as itself when this run has taken many updates or the record grew.
 * A cancellation request changes nothing here: a task at rest has no run to stop.
 */
export async function task(input: PhaseInput): Promise<never> {
  const record = openRecord('task', input);
  registerHandlers(record, convergeOrphan(record));
  return CancellationScope.nonCancellable(async () => {
    await condition(() => record.carried.intent !== null || record.isFull());
    const { intent } = record.carried;
    if (intent === null) return goOn(record, 'task');
    return goOn(record, intent.kind === 'reopen' ? 'reopenTask' : 'dispatchTask');
  });
}
