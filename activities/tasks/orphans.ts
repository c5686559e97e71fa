import type { OrphanActivities } from '../../contract/activities';
import {
  ENDED,
  parseTaskWorkflowId,
  SEARCH_ATTRIBUTE,
  taskWorkflowId,
  threadWorkflowId,
  visibilityText,
  WORKFLOW,
  type PhaseType,
} from '../../contract/names';
import { orphanInputSchema, type JudgedOrphan, type OrphanCandidate } from '../../contract/orphan';
import { carriedSchema, RULES, type Carried } from '../../contract/run';
import { isNotFound, neverBegun, type SeenRun, type TaskServer } from './task-server';

const PHASES = `WorkflowType IN ('${WORKFLOW.task}', '${WORKFLOW.dispatchTask}', '${WORKFLOW.reopenTask}')`;
const { status, attention, tenant, thread } = SEARCH_ATTRIBUTE;
const RUNS =
  `(${attention.name} IN ('running', 'stopping', 'waiting') OR ` +
  `(WorkflowType = '${WORKFLOW.dispatchTask}' AND ${attention.name} = 'recovery'))`;
/** Nothing of ours runs these: somebody claimed them. What waits for an outcome or a decision is no orphan. */
const CLAIMED = `ExecutionStatus = 'Running' AND ${status.name} = 'in_progress' AND ${attention.name} = 'claimed'`;
/** What was ended while it ran, or while somebody had it. */
const UNFINISHED = `(${status.name} = 'in_progress' OR ${RUNS})`;

/** Runs that a look goes through, at most. */
const LISTED = 5_000;

/** A task that does not answer keeps nobody else from being looked at; the next sweep asks it again. */
const unanswered = (): OrphanCandidate[] => [];

/** Makes the activities that find orphans and bring their chains back. */
export function createOrphanActivities(server: TaskServer): OrphanActivities {
  return {
    async findOrphans({ tenantId, taskId, limit }) {
      const scope = scopeOf(tenantId, taskId);
      const found: OrphanCandidate[] = [];
      const take = async (runs: SeenRun[], kind: OrphanCandidate['kind']): Promise<void> => {
        let room = limit;
        for (const run of runs) {
          if (room === 0) return;
          const candidates = await candidate(server, run, kind).catch(unanswered);
          room -= candidates.length;
          found.push(...candidates);
        }
      };
      // Asked for by name, one that was ended at rest comes back as well.
      const ended = taskId === null ? `${ENDED} AND ${UNFINISHED}` : ENDED;
      await take(await server.list(`${scope} AND ${ended}`, LISTED), 'closed');
      await take(await server.list(`${scope} AND ${CLAIMED}`, LISTED), 'claimed');
      return found;
    },
    async findLeaseHolder({ threadId }) {
      const lease = await server.newest(threadWorkflowId(threadId)).catch(absent);
      const attemptId = lease?.status === 'RUNNING' ? lease.memo['attemptId'] : null;
      return typeof attemptId === 'string' ? attemptId : null;
    },
    async findThreadHolder({ threadId, task }) {
      const lease = threadWorkflowId(threadId);
      const run = await server.newest(lease).catch(absent);
      if (run?.status === 'RUNNING') return `${lease} is open`;
      const query = `ExecutionStatus = 'Running' AND ${PHASES} AND ${thread.name} = ${visibilityText(threadId)} AND ${RUNS}`;
      const others = await server.list(query, 2);
      const other = others.find(({ workflowId }) => workflowId !== taskWorkflowId(task));
      return other === undefined ? null : `${other.workflowId} runs on thread ${threadId}`;
    },
    async restoreTask({ task, runId }) {
      const workflowId = taskWorkflowId(task);
      const closed = await server.newest(workflowId);
      // One that failed was never a task: its input was refused.
      if (closed.runId !== runId || closed.status === 'RUNNING' || closed.status === 'FAILED') return false;
      const held = await server.query(workflowId, 'carried', runId).catch(neverBegun);
      // A run that was ended before its first task holds nothing but its input, and has done nothing of it.
      if (held === null) return server.restart(closed, closed.type, await server.inputOf(closed));
      const carried = carriedSchema.parse(held);
      return server.restart(closed, phaseOf(carried), { carried: { ...carried, version: RULES } });
    },
    async convergeTask({ task, requestId }) {
      const outcome = await server.update(task, 'failOrphan', { requestId, actor: 'perdure' });
      if (outcome.success) return outcome as JudgedOrphan;
      const { code, error } = outcome;
      // It is no orphan any more, or somebody else is judging it.
      const isSettled = code === 'TASK_STATUS_CONFLICT' || code === 'TASK_NOT_DISPATCHABLE';
      if (!isSettled) throw new Error(`${code}: ${error}`);
      return { success: true, taskId: task.taskId, liveness: 'unknown', evidence: [error], failed: false };
    },
  };
}

function scopeOf(tenantId: string | null, taskId: string | null): string {
  const one = tenantId === null || taskId === null ? null : taskWorkflowId({ tenantId, taskId });
  return [
    PHASES,
    ...(tenantId === null ? [] : [`${tenant.name} = ${visibilityText(tenantId)}`]),
    ...(one === null ? [] : [`WorkflowId = ${visibilityText(one)}`]),
  ].join(' AND ');
}

function absent(error: unknown): null {
  if (isNotFound(error)) return null;
  throw error;
}

async function candidate(server: TaskServer, run: SeenRun, kind: OrphanCandidate['kind']): Promise<OrphanCandidate[]> {
  const key = parseTaskWorkflowId(run.workflowId);
  if (key === undefined) return [];
  const { runId, status: how, closedAt } = run;
  if (kind === 'closed') {
    // Closed runs stay visible for the retention time, also of chains that were brought back long ago.
    if ((await server.newest(run.workflowId)).runId !== runId) return [];
    const evidence = `its workflow was ${how.toLowerCase()} at ${closedAt ?? 'an unknown time'}`;
    return [{ ...key, kind, runId, evidence, executor: null }];
  }
  const answer = await server.query(run.workflowId, 'executor').catch(absent);
  const executor = orphanInputSchema.nullable().parse(answer);
  // The list lags behind: the task itself says that it is no orphan any more.
  return executor === null ? [] : [{ ...key, kind, runId, evidence: 'claimed without a dispatch', executor }];
}

/** The phase that was under way, or was about to begin, when the chain was ended. */
function phaseOf({ intent, attempts }: Carried): PhaseType {
  const last = attempts.at(-1);
  // Its result is recorded first: a reopening that came in meanwhile is the resting task's to make.
  if (last !== undefined && last.outcome !== null && last.settledAt === null) return 'dispatchTask';
  if (intent === null) return 'task';
  return intent.kind === 'run' ? 'dispatchTask' : 'reopenTask';
}
