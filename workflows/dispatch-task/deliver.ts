import { condition, ParentClosePolicy, startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { RunOrder, RunReport } from '../../contract/activities';
import { SEARCH_ATTRIBUTE, threadWorkflowId } from '../../contract/names';
import { NO_RELATIONS } from '../../contract/relation';
import { rolledOverSignal } from '../../contract/resume';
import type { Attempt } from '../../contract/run';
import { resumeCodex } from '../resume-codex';
import { now, type TaskRecord } from '../task-record/record';
import { currentAttempt } from '../task-record/settling';
import { follow } from './follow';
import { workerMessage } from './message';
import { unstartedReport } from './unstarted';
import { stopOnHost } from './stop';

/** A run under way: its report, and the way to let go of it. */
interface Run {
  readonly report: Promise<RunReport | null>;
  letGo(): void;
}

/** Gets the current attempt executed and reported; null when this run of the phase is full and the next one adopts it. */
export async function deliver(record: TaskRecord): Promise<RunReport | null> {
  const { intent, stop } = record.carried;
  const attempt = currentAttempt(record.carried);
  if (intent?.kind !== 'run' || attempt === undefined) {
    throw new Error('dispatchTask was entered without an attempt to run');
  }
  if (stop !== null && !intent.isHandedOver) return unstartedReport('stopped', 'user_stopped', now());
  record.conclude((carried) => ({ ...carried, intent: { ...intent, isHandedOver: true } }));
  const run = await startRun(orderOf(record, attempt), attempt);
  const stopping = stopWhenAsked(record, attempt);
  const report = await Promise.race([run.report, condition(() => record.isFull()).then(() => 'full' as const)]);
  if (report !== 'full') {
    await stopping.settled();
    return report;
  }
  run.letGo();
  const late = await run.report;
  await stopping.settled();
  return late;
}

function orderOf({ carried }: TaskRecord, attempt: Attempt): RunOrder {
  const { tenantId, id: taskId, workspace } = carried.task;
  const { attemptId, threadId, codexHome, policy, limits } = attempt;
  return {
    attemptId,
    task: { tenantId, taskId },
    mode: threadId === null ? 'start' : 'resume',
    threadId,
    codexHome,
    message: workerMessage(
      carried.task,
      attempt,
      carried.intent?.kind === 'run' ? carried.intent.relations : NO_RELATIONS,
    ),
    repository: workspace.path,
    policy,
    limits,
  };
}

/** Begins a fresh thread here, or resumes a known one under the thread's own id, which is its lease. */
async function startRun(order: RunOrder, attempt: Attempt): Promise<Run> {
  if (order.threadId === null) {
    const following = follow(order, attempt.hostId);
    return {
      report: following.report(),
      letGo: () => {
        following.letGo();
      },
    };
  }
  try {
    const child = await startChild(resumeCodex, {
      workflowId: threadWorkflowId(order.threadId),
      args: [{ order, hostId: attempt.hostId }],
      // The lease lasts as long as the run, whatever becomes of the task's own workflow.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      typedSearchAttributes: [
        { key: SEARCH_ATTRIBUTE.thread, value: order.threadId },
        { key: SEARCH_ATTRIBUTE.tenant, value: order.task.tenantId },
        { key: SEARCH_ATTRIBUTE.host, value: attempt.hostId },
      ],
    });
    return {
      report: child.result().then((result) => (result.detached ? null : result.report)),
      letGo: () => {
        void child.signal(rolledOverSignal).catch(() => undefined); // it has ended by itself: its result is on its way
      },
    };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const busy = unstartedReport('failed', 'THREAD_BUSY', now());
    return { report: Promise.resolve(busy), letGo: () => undefined };
  }
}

/** Ends the run on its host as soon as a stop is accepted. */
function stopWhenAsked(record: TaskRecord, attempt: Attempt): { settled(): Promise<void> } {
  const run = { isOver: false };
  const stopping = condition(() => record.carried.stop !== null || run.isOver).then(async () => {
    if (!run.isOver) await stopOnHost(attempt);
  });
  return {
    settled: () => {
      run.isOver = true;
      return stopping;
    },
  };
}
