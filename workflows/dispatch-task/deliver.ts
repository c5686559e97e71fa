import { condition } from '@temporalio/workflow';
import type { RunOrder, RunReport } from '../../contract/activities';
import { NO_RELATIONS } from '../../contract/relation';
import type { Attempt } from '../../contract/run';
import { now, type TaskRecord } from '../task-record/record';
import { limitsWithin } from '../task-record/delivery';
import { currentAttempt } from '../task-record/attempt';
import { workerMessage } from './message';
import { startRun } from './start-run';
import { noteUnconfirmedStop, stopWhenAsked } from './stop';
import { unstartedReport } from './unstarted';

/** Gets the current attempt executed and reported; null when this run of the phase is full and the next one adopts it. */
export async function deliver(record: TaskRecord): Promise<RunReport | null> {
  const { intent } = record.carried;
  const attempt = currentAttempt(record.carried);
  if (intent?.kind !== 'run' || attempt === undefined) {
    throw new Error('dispatchTask was entered without an attempt to run');
  }
  if (!intent.isHandedOver && !(await waitForTurn(record, intent.notBefore))) return null;
  if (record.carried.stop !== null && !intent.isHandedOver) return unstartedReport('stopped', 'user_stopped', now());
  record.commit((carried) => ({ ...carried, intent: { ...intent, isHandedOver: true, notBefore: null } }));
  const run = await startRun(orderOf(record, attempt), attempt);
  const over = { isOver: false, isConfirmed: false };
  const stopping = stopWhenAsked(() => record.carried.stop !== null, attempt, over);
  void stopping.then(() => (over.isConfirmed = true));
  const noting = record.carried.version > 3 ? noteUnconfirmedStop(record, attempt, over) : undefined;
  const report = await Promise.race([run.report, condition(() => record.isFull()).then(() => 'full' as const)]);
  if (report === 'full') run.letGo();
  const last = report === 'full' ? await run.report : report;
  over.isOver = true;
  // The next run sends the stop again; a result is not held back for longer than its host may take to confirm.
  if (noting === undefined) await stopping;
  else if (last !== null) await Promise.race([stopping, noting]);
  return last;
}

/** Waits until an attempt may begin, or is stopped; false when this run of the phase is full before that. */
async function waitForTurn(record: TaskRecord, notBefore: string | null): Promise<boolean> {
  const ms = notBefore === null ? 0 : Date.parse(notBefore) - Date.parse(now());
  if (ms <= 0) return true;
  const isStopped = () => record.carried.stop !== null;
  await condition(() => isStopped() || record.isFull(), ms);
  return isStopped() || !record.isFull();
}

function orderOf({ carried }: TaskRecord, attempt: Attempt): RunOrder {
  const { tenantId, id: taskId, workspace } = carried.task;
  const { attemptId, threadId, codexHome, policy, limits, purpose } = attempt;
  return {
    attemptId,
    task: { tenantId, taskId },
    mode: threadId === null ? 'start' : 'resume',
    threadId,
    codexHome,
    message: workerMessage(carried, attempt, carried.intent?.kind === 'run' ? carried.intent.relations : NO_RELATIONS),
    repository: workspace.path,
    policy,
    limits: limitsWithin(limits, carried.delivery),
    ...(purpose !== undefined && { report: purpose === 'review' ? ('verdict' as const) : ('checkpoint' as const) }),
  };
}
