import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { PhaseInput } from '../../contract/new-task';
import type { Carried } from '../../contract/run';
import { registerHandlers } from '../task-record/handlers';
import { goOn } from '../task-record/phase';
import { now, openRecord } from '../task-record/record';
import { attemptIdFor } from '../task-record/attempt-id';
import { planNext } from '../task-record/continuing';
import { amendAttempt, currentAttempt } from '../task-record/attempt';
import { isPlanned, settle } from '../task-record/settling';
import { stopSettled } from '../task-record/stopping';
import { isSettling } from '../task-record/view';
import { deliver } from './deliver';
import { judgeByCriteria } from './judge-by-criteria';
import { queueResultReceipt } from './queue-result-receipt';
import { saveLostEvidence } from './save-evidence';
import { stopOnCancellation } from './stop';
import { tellProject } from './tell-project';

/** The id of the attempt that follows the last one: always the same, so that a reset comes to it again. */
const followingAttempt = (carried: Carried): string =>
  attemptIdFor(workflowInfo().workflowId, `after ${currentAttempt(carried)?.attemptId ?? ''}`);

/**
 * A task being executed: one attempt, from the accepted dispatch to the settled result. It ends by going back to rest
 * with the result recorded, or as itself with the attempt that a delivery or a usage limit makes follow. It also goes
 * on as itself when its history grew long under a run: it lets go, carries the attempt, and adopts it again. An
 * operator's cancellation counts as a stop.
 */
export async function dispatchTask(input: PhaseInput): Promise<never> {
  const record = openRecord('dispatchTask', input);
  registerHandlers(record);
  stopOnCancellation(record);
  return CancellationScope.nonCancellable(async () => {
    // A chain that was ended while its result was being recorded begins again there.
    if (!isSettling(currentAttempt(record.carried))) {
      const report = await deliver(record);
      if (report === null) return goOn(record);
      record.conclude((carried) => settle(carried, report, now()));
      await saveLostEvidence(record);
    }
    await queueResultReceipt(record);
    await judgeByCriteria(record);
    const planned = isPlanned(record.carried);
    record.conclude((carried) => {
      const settled = amendAttempt(carried, { settledAt: now() });
      if (planned) return planNext(settled, { attemptId: followingAttempt(settled), at: now() });
      return stopSettled(settled, now());
    });
    if (record.carried.intent?.kind !== 'run') await tellProject(record);
    return goOn(record);
  });
}
