import { ActivityFailure, CancellationScope, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { SandboxActivities } from '../../contract/activities';
import { hostQueue } from '../../contract/names';
import type { Attempt, CriterionResult } from '../../contract/run';
import { now, type TaskRecord } from '../task-record/record';
import { amendAttempt, currentAttempt } from '../task-record/attempt';
import { concludeByCriteria } from '../task-record/settling';

/** Records the outcome by the acceptance criteria, when the dispatch asked for that and the run left it open. */
export async function judgeByCriteria(record: TaskRecord): Promise<void> {
  const attempt = currentAttempt(record.carried);
  const isOpen = attempt?.completion === 'criteria' && attempt.outcome === 'completed';
  if (!isOpen || record.carried.task.status !== 'in_progress') return;
  if (attempt.purpose !== undefined) return proveDone(record, attempt);
  const results = await checkUnlessStopped(record, attempt.hostId);
  if (results === null) return;
  record.conclude((carried) => concludeByCriteria(carried, results, now()));
}

/** Proves what a supervised attempt claims to have done (CK-14): its word alone completes nothing. */
async function proveDone(record: TaskRecord, { hostId, checkpoint }: Attempt): Promise<void> {
  if (checkpoint !== 'done') return;
  const criteria = await checkUnlessStopped(record, hostId);
  if (criteria === null) return;
  record.conclude((carried) => amendAttempt(carried, { criteria }));
}

/** What the criteria came to; null when a stop came in, which ends the commands. */
async function checkUnlessStopped(record: TaskRecord, hostId: string): Promise<CriterionResult[] | null> {
  if (record.carried.version < 4) return checkOnHost(record, hostId);
  const scope = new CancellationScope();
  const over = { isOver: false };
  void condition(() => record.carried.stop !== null || over.isOver).then(() => {
    scope.cancel();
  });
  try {
    return await scope.run(() => checkOnHost(record, hostId));
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return null;
  } finally {
    over.isOver = true;
  }
}

async function checkOnHost({ carried }: TaskRecord, hostId: string): Promise<CriterionResult[]> {
  const { acceptance, tenantId, id: taskId, workspace } = carried.task;
  if (acceptance.length === 0) return [];
  // Each command has 10 minutes of its own (CK-15); a check may run again, so a lost worker costs only time.
  const { checkCriteria } = proxyActivities<SandboxActivities>({
    taskQueue: hostQueue(hostId),
    startToCloseTimeout: '4 hours',
    heartbeatTimeout: '40 seconds',
    retry: { maximumAttempts: 3 },
  });
  try {
    return await checkCriteria({ task: { tenantId, taskId }, repository: workspace.path, commands: acceptance });
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    const output = `the check could not run: ${error.cause?.message ?? error.message}`.slice(0, 600);
    return acceptance.map((command) => ({ command, met: false, exitCode: null, output }));
  }
}
