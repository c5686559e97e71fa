import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { projectWorkflowId } from '../../contract/names';
import { runSettledSignal } from '../../contract/project';
import { currentAttempt } from '../task-record/attempt';
import type { TaskRecord } from '../task-record/record';

/** Gives the slot back that a project's queue lent; a queue that is gone, or that missed this, looks for itself. */
export async function tellProject({ carried }: TaskRecord): Promise<void> {
  const attempt = currentAttempt(carried);
  if (attempt?.managedBy === undefined) return;
  const { tenantId, id: taskId } = carried.task;
  const project = getExternalWorkflowHandle(projectWorkflowId({ tenantId, projectId: attempt.managedBy }));
  await project
    .signal(runSettledSignal, { taskId, attemptId: attempt.firstAttemptId ?? attempt.attemptId })
    .catch(() => undefined);
}
