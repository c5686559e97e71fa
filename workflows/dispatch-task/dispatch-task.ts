import { CancellationScope } from '@temporalio/workflow';
import type { PhaseInput } from '../../contract/new-task';
import { registerHandlers } from '../task-record/handlers';
import { goOn } from '../task-record/phase';
import { now, openRecord } from '../task-record/record';
import { amendAttempt, currentAttempt, settle } from '../task-record/settling';
import { isSettling } from '../task-record/view';
import { deliver } from './deliver';
import { judgeByCriteria } from './judge-by-criteria';
import { queueResultReceipt } from './queue-result-receipt';
import { stopOnCancellation } from './stop';
import { tellProject } from './tell-project';

/**
 * A task being executed: one attempt, from the accepted dispatch to the settled result. It ends by going back to rest
 * with the result recorded. It goes on as itself when its history grew long under a run: it lets go, carries the
 * attempt, and adopts it again. An operator's cancellation counts as a stop.
 */
export async function dispatchTask(input: PhaseInput): Promise<never> {
  const record = openRecord('dispatchTask', input);
  registerHandlers(record);
  stopOnCancellation(record);
  return CancellationScope.nonCancellable(async () => {
    // A chain that was ended while its result was being recorded begins again there.
    if (!isSettling(currentAttempt(record.carried))) {
      const report = await deliver(record);
      if (report === null) return goOn(record, 'dispatchTask');
      record.conclude((carried) => settle(carried, report, now()));
    }
    await queueResultReceipt(record);
    await judgeByCriteria(record);
    record.conclude((carried) => amendAttempt(carried, { settledAt: now() }));
    await tellProject(record);
    return goOn(record, 'task');
  });
}
