import type { Claim, OrphanInput } from '../../contract/orphan';
import type { Carried } from '../../contract/run';
import { boundThread } from './dispatching';
import { currentAttempt } from './attempt';

/** What may execute a task that says `in_progress`: its last attempt, or the run behind somebody's claim. */
export function suspectOf(carried: Carried): OrphanInput {
  const { tenantId, id: taskId } = carried.task;
  const claim = carried.version === 1 ? null : claimOf(carried);
  const attempt = currentAttempt(carried) ?? null;
  return { task: { tenantId, taskId }, attempt, ...(claim !== null && { claim }) };
}

/** Whether the last executor was lost, and what followed was decided without proof that it is gone (RC-14). */
export function isOwnerUnproven(carried: Carried): boolean {
  const attempt = currentAttempt(carried);
  if (carried.version < 4 || attempt?.outcome !== 'interrupted_owner' || carried.intent !== null) return false;
  const { decision } =
    carried.incidents.find(({ code, subject }) => code === 'interrupted_owner' && subject === attempt.attemptId) ?? {};
  return decision === undefined || DECIDED_UNPROVEN.includes(decision);
}

/** Decisions about a lost executor that nobody has to prove anything for. */
const DECIDED_UNPROVEN = ['accept', 'abandon', 'stop'];

/** The claim that made a task `in_progress`; null when a dispatch or a reopening did. */
export function claimOf({ task }: Carried): Claim | null {
  const last = task.activities.findLast(({ detail }) => detail.to !== undefined);
  if (task.status !== 'in_progress' || last?.detail.type !== 'claim') return null;
  const { runId, threadId } = last.detail;
  return {
    at: last.at,
    actor: last.actor,
    hostId: task.workspace.hostId,
    runId: typeof runId === 'string' ? runId : null,
    threadId: typeof threadId === 'string' ? boundThread(task) : null,
  };
}

/** A claim that names no run and no thread: only its author knows, and a dispatch is a decision to take it over. */
export const isBareClaim = ({ runId, threadId }: Claim): boolean => runId === null && threadId === null;
