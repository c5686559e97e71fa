import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { defineUpdate } from '@temporalio/workflow';
import type { SeenRun, TaskServer } from '../activities/tasks/task-server';
import { outcomeOf } from '../client/outcome';
import { readInput } from '../client/record';
import { beginProject, projectStart } from '../client/project';
import { sendUpdate } from '../client/send-update';
import { ask, call, QUERY_MS, type Session } from '../client/session';
import { ORCHESTRATOR_QUEUE, WORKFLOW } from '../contract/names';
import { taskDispatchedSignal } from '../contract/project';

/** The server as activities see it, through the same calls that clients make. */
export function createTaskServer(session: Session): TaskServer {
  const forTenant = (tenantId: string): Session => ({ ...session, home: { ...session.home, tenantId } });
  return {
    query: (workflowId, name, runId) =>
      ask(session, QUERY_MS, (client) => handleOf(client, workflowId, runId).query(name)),
    update: ({ tenantId, taskId }, name, request) =>
      outcomeOf(() =>
        sendUpdate(forTenant(tenantId), taskId, { definition: defineUpdate<object, [typeof request]>(name), request }),
      ),
    async enqueue({ tenantId, projectId }, queued) {
      await call(session, (client) =>
        client.workflow.signalWithStart(WORKFLOW.project, {
          ...projectStart({ tenantId, projectId }),
          signal: taskDispatchedSignal,
          signalArgs: [queued],
        }),
      );
    },
    beginProject: (project) => beginProject(session, project),
    list: (query, limit) =>
      call(session, async (client) => {
        const runs: SeenRun[] = [];
        for await (const run of client.workflow.list({ query, pageSize: Math.min(limit, 1_000) })) {
          if (runs.push(seen(run)) === limit) break;
        }
        return runs;
      }),
    newest: async (workflowId) => seen(await call(session, (client) => handleOf(client, workflowId).describe())),
    inputOf: async (run) => z.looseObject({}).parse(await readInput(session, run)),
    restart: (closed, phase, input) => restart(session, closed, { phase, input }),
  };
}

const handleOf = (client: Client, workflowId: string, runId?: string) =>
  client.workflow.getHandle(workflowId, runId, { followRuns: false });

type Listed = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'type' | 'status' | 'closeTime' | 'memo'>;

const seen = ({ workflowId, runId, type, status, closeTime, memo }: Listed): SeenRun => ({
  workflowId,
  runId,
  type,
  memo: memo ?? {},
  status: status.name,
  closedAt: closeTime?.toISOString() ?? null,
});

async function restart(
  session: Session,
  { workflowId, runId }: SeenRun,
  { phase, input }: { phase: string; input: object },
): Promise<boolean> {
  const closed = await call(session, (client) => handleOf(client, workflowId, runId).describe());
  try {
    await call(session, (client) =>
      client.workflow.start(phase, {
        workflowId,
        taskQueue: ORCHESTRATOR_QUEUE,
        args: [input],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
        typedSearchAttributes: closed.typedSearchAttributes,
        ...(closed.memo !== undefined && { memo: closed.memo }),
      }),
    );
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}
