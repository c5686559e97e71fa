import { currentUpdateInfo, ParentClosePolicy, executeChild, uuid4, workflowInfo } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { orphanWorkflowId } from '../../contract/names';
import type { Verdict } from '../../contract/orphan';
import { failOrphan } from '../fail-orphan';
import { dispatchTask, notDispatchable, refuseDispatch, type Dispatch } from '../task-record/dispatching';
import type { DispatchRule } from '../task-record/handlers';
import { readRelations } from '../task-record/relations';
import { attemptIdFor } from '../task-record/attempt-id';
import { now, type TaskRecord } from '../task-record/record';
import { refuse } from '../task-record/refusal';
import { currentAttempt, failOrphaned } from '../task-record/settling';

/** How a resting task takes a dispatch: one that says `in_progress` has no run here, so its executor is judged first. */
export function convergeOrphan(record: TaskRecord): DispatchRule {
  let isConverging = false;
  const isOrphan = () => {
    const { task, intent } = record.carried;
    return task.status === 'in_progress' && task.ownerType === 'agent' && intent === null;
  };
  return {
    check(dispatch) {
      const { task, intent } = record.carried;
      if (isConverging || intent !== null) return notDispatchable(task);
      return refuseDispatch(isOrphan() ? { ...task, status: 'failed' } : task, dispatch);
    },
    async accept(dispatch) {
      const attemptId = attemptIdOf(dispatch);
      if (isOrphan() && !isConverging) {
        isConverging = true;
        await converge(record, dispatch).finally(() => (isConverging = false));
      }
      const relations = await readRelations(record);
      return record.perform((carried) => dispatchTask(carried, { dispatch, attemptId, at: now(), relations }));
    },
  };
}

/**
 * The id of the attempt that a dispatch makes. It follows from the request, so that an operator's reset of the workflow
 * comes to the same attempt and the fence holds; a request id of a person's own making only counts for this task.
 */
function attemptIdOf({ requestId }: Dispatch): string {
  const request = requestId ?? currentUpdateInfo()?.id;
  return request === undefined ? uuid4() : attemptIdFor(workflowInfo().workflowId, request);
}

/** Proves the executor dead and fails the task; anything else leaves it as it is, and the dispatch is refused as live. */
async function converge(record: TaskRecord, { actor }: Dispatch): Promise<void> {
  const { intent, task: judged } = record.carried;
  const verdict = await judge(record);
  const { task } = record.carried;
  const isSame =
    intent === record.carried.intent && task.status === 'in_progress' && task.statusSince === judged.statusSince;
  if (!isSame) return;
  if (verdict.liveness !== 'dead') {
    return refuse({
      ...notDispatchable(task),
      hint: `The task is in_progress and its executor is ${verdict.liveness}: ${verdict.evidence.join('; ')}`,
    });
  }
  record.commit((carried) => failOrphaned(carried, verdict.evidence, { at: now(), actor }));
}

async function judge({ carried }: TaskRecord): Promise<Verdict> {
  const { tenantId, id: taskId } = carried.task;
  const task = { tenantId, taskId };
  try {
    return await executeChild(failOrphan, {
      workflowId: orphanWorkflowId(task),
      args: [{ task, attempt: currentAttempt(carried) ?? null }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return { liveness: 'unknown', evidence: ['another check of the same task is under way'] };
  }
}
