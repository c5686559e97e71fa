import { CancellationScope } from '@temporalio/workflow';
import type { PhaseInput } from '../contract/new-task';
import { registerHandlers } from './task-record/handlers';
import { goOn } from './task-record/phase';
import { now, openRecord } from './task-record/record';
import { reopenTask as reopen } from './task-record/reopening';

/**
 * A terminal task being brought back: the earlier outcome is kept in an activity, its fields are cleared, the thread is
 * kept or replaced, and the task goes on as a dispatch when one asked for it, or rests. It ends in its first task.
 */
export async function reopenTask(input: PhaseInput): Promise<never> {
  const record = openRecord('reopenTask', input);
  record.conclude((carried) => reopen(carried, { at: now() }));
  registerHandlers(record);
  return CancellationScope.nonCancellable(() => goOn(record));
}
