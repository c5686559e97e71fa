import { invalidArgument } from '../contract/failures';
import { resumeInputSchema, rolledOverSignal, type ResumeInput, type ResumeResult } from '../contract/resume';
import { CancellationScope, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { onCancellation, stopOnHost } from './dispatch-task/stop';
import { follow } from './dispatch-task/follow';
import { checkIdentity } from './dispatch-task/identity';
import { refuse } from './task-record/refusal';

/**
 * One resumption of exactly one Codex thread. Its workflow id is the thread's lease: no second one can run anywhere.
 * It ends with the run's report, or `detached` when its parent rolls over and will adopt the same attempt again.
 */
export async function resumeCodex(input: ResumeInput): Promise<ResumeResult> {
  const parsed = resumeInputSchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const { order, hostId } = parsed.data;
  const following = follow(order, hostId);
  setHandler(rolledOverSignal, () => {
    following.letGo();
  });
  onCancellation(() => {
    void CancellationScope.nonCancellable(() => stopOnHost({ attemptId: order.attemptId, hostId }));
  });
  setCurrentDetails(`Attempt ${order.attemptId} resumes thread ${order.threadId ?? ''} for task ${order.task.taskId}.`);
  const report = await CancellationScope.nonCancellable(() => following.report());
  return report === null ? { detached: true } : { detached: false, report: checkIdentity(report, order.threadId) };
}
