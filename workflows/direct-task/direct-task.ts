import { allHandlersFinished, CancellationScope, condition, continueAsNew } from '@temporalio/workflow';
import type { DirectInput, DirectTask } from '../../contract/direct';
import { onCancellation, stopOnHost } from '../dispatch-task/stop';
import { now } from '../task-record/record';
import { openDirect, type DirectRecord } from './direct-record';
import { registerDirectHandlers } from './handlers';
import { invoke, reachDeadline } from './invoke';
import { queueDirectReceipt } from './queue-receipt';
import { confirmStop, isDecidable, isTerminal, requestStop, resumeStop, settle } from './state';

/**
 * A direct task: one invocation of a provider, in a repository itself, and never a second one. It ends with its
 * snapshot as its result, whatever became of the run. With a lost executor it goes on as a new run that only waits for
 * a stop or a decision; it goes on as itself, too, when its history grew long under a run. An operator's cancellation
 * counts as a stop.
 */
export async function directTask(input: DirectInput): Promise<DirectTask> {
  const direct = openDirect(input);
  registerDirectHandlers(direct);
  onCancellation(() => {
    const stop = { actor: 'operator (workflow cancel)', reason: 'the workflow was cancelled', cause: 'user' as const };
    direct.change((task) => requestStop(task, stop, now()));
  });
  return CancellationScope.nonCancellable(async () => {
    const { deadlineAt } = direct.task;
    const isLate = deadlineAt !== null && Date.parse(deadlineAt) <= Date.now();
    // Nobody was there to begin it in time.
    if (isLate && direct.task.status === 'queued') direct.change(reachDeadline);
    if (!isTerminal(direct.task) && !isDecidable(direct.task)) {
      const report = await invoke(direct);
      if (report === null) return goOn(direct);
      direct.change((task) => settle(task, report, now()));
      direct.change(resumeStop);
      // What waits for its end follows the runs of this workflow, and learns it in this way.
      if (isDecidable(direct.task)) return goOn(direct);
    }
    if (isDecidable(direct.task) && (await untilJudged(direct)) === 'full') return goOn(direct);
    await queueDirectReceipt(direct);
    await condition(allHandlersFinished);
    return direct.task;
  });
}

/** Waits at no cost until somebody stops a lost task, or says what became of it. */
async function untilJudged(direct: DirectRecord): Promise<'judged' | 'full'> {
  const isJudged = (): boolean => isTerminal(direct.task);
  await condition(() => direct.task.stop !== null || isJudged() || direct.isFull());
  if (isJudged()) return 'judged';
  const { stop, handle } = direct.task;
  if (stop === null || handle === null) return 'full';
  const stopped = stopOnHost(handle).then(() => {
    direct.change((task) => confirmStop(task, now()));
  });
  await Promise.race([stopped, condition(isJudged)]);
  return 'judged';
}

async function goOn(direct: DirectRecord): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof directTask>({ carried: direct.task });
}
