import type { OrphanActivities } from '../../contract/activities';
import {
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
import { isNotFound, type SeenRun, type TaskServer } from './task-server';

const PHASES = `WorkflowType IN ('${WORKFLOW.task}', '${WORKFLOW.dispatchTask}', '${WORKFLOW.reopenTask}')`;
const { status, attention, tenant, thread } = SEARCH_ATTRIBUTE;
const RUNS = `${attention.name} IN ('running', 'stopping')`;
/** Nothing of ours runs these: somebody claimed them. What waits for an outcome or a decision is no orphan. */
const CLAIMED = `ExecutionStatus = 'Running' AND ${status.name} = 'in_progress' AND ${attention.name} = 'claimed'`;
/** Ended from outside while they ran, or while somebody had them. */
const CLOSED = `ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled')`;
const UNFINISHED = `(${status.name} = 'in_progress' OR ${RUNS})`;

/** Makes the activities that find orphans and bring their chains back. */
export function createOrphanActivities(server: TaskServer): OrphanActivities {
  return {
    async findOrphans({ tenantId, taskId, limit }) {
      const scope = scopeOf(tenantId, taskId);
      const claimed = await server.list(`${scope} AND ${CLAIMED}`, limit);
      // Asked for by name, one that was ended at rest comes back as well.
      const ended = taskId === null ? `${CLOSED} AND ${UNFINISHED}` : CLOSED;
      const closed = await server.list(`${scope} AND ${ended}`, limit);
      const found: OrphanCandidate[] = [];
      for (const run of claimed) found.push(...(await candidate(server, run, 'claimed')));
      for (const run of closed) {
        if ((await server.newest(run.workflowId)).runId === run.runId)
          found.push(...(await candidate(server, run, 'closed')));
      }
      return found.slice(0, limit);
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
      if (closed.runId !== runId || closed.status === 'RUNNING') return false;
      const carried = carriedSchema.parse(await server.query(workflowId, 'carried', runId));
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
    const evidence = `its workflow was ${how.toLowerCase()} at ${closedAt ?? 'an unknown time'}`;
    return [{ ...key, kind, runId, evidence, executor: null }];
  }
  const answer = await server.query(run.workflowId, 'executor').catch(absent);
  const executor = orphanInputSchema.nullable().parse(answer);
  // The list lags behind: the task itself says that it is no orphan any more.
  return executor === null ? [] : [{ ...key, kind, runId, evidence: 'claimed without a dispatch', executor }];
}

/** The phase that was under way, or was about to begin, when the chain was ended. */
function phaseOf({ intent }: Carried): PhaseType {
  if (intent === null) return 'task';
  return intent.kind === 'run' ? 'dispatchTask' : 'reopenTask';
}
