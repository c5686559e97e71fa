import type { WorkflowExecutionInfo } from '@temporalio/client';
import { ATTENTIONS } from '../contract/attention';
import type { Outcome } from '../contract/failures';
import { parseTaskWorkflowId, SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import { taskStatus } from '../contract/task';
import { outcomeOf, refuse } from './outcome';
import { call, type Session } from './session';

export interface TaskFilter {
  readonly status?: string;
  readonly agent?: string;
  readonly attention?: string;
  readonly project?: string;
  readonly parent?: string;
  readonly host?: string;
  /** A visibility condition of the caller's own, added to the others. */
  readonly query?: string;
  /** How many tasks at most; 100 unless told. */
  readonly limit?: number;
}

/** A task as lists show it; lists lag a moment behind and decide nothing. */
export interface ListedTask {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly agent: string | null;
  readonly host: string | null;
  readonly attention: string | null;
  readonly thread: string | null;
  readonly phase: string;
  /** When the present phase began. */
  readonly startedAt: string;
}

const LIMIT = 100;

/** Lists this tenant's open tasks, the newest phase first; `truncated` says that there are more. */
export async function listTasks(
  session: Session,
  filter: TaskFilter = {},
): Promise<Outcome<{ tasks: ListedTask[]; truncated?: true }>> {
  return outcomeOf(async () => {
    const { tenantId } = session.home;
    const query = listQuery(tenantId, filter);
    const limit = filter.limit ?? LIMIT;
    return call(session, async (client) => {
      const tasks: ListedTask[] = [];
      for await (const run of client.workflow.list({ query, pageSize: Math.min(limit + 1, 1_000) })) {
        const key = parseTaskWorkflowId(run.workflowId);
        if (key?.tenantId !== tenantId) continue;
        if (tasks.length === limit) return { tasks, truncated: true as const };
        tasks.push(listed(key.taskId, run));
      }
      return { tasks };
    });
  });
}

/** The visibility query of a filter: only running phases, because closed ones stay visible for the retention time. */
export function listQuery(tenantId: string, filter: TaskFilter = {}): string {
  const { status, agent, attention, project, parent, host, query } = filter;
  if (status !== undefined && !taskStatus.safeParse(status).success) {
    refuse('INVALID_ARGUMENT', `the status must be one of ${taskStatus.options.join(', ')}`);
  }
  if (attention !== undefined && !ATTENTIONS.some((word) => word === attention)) {
    refuse('INVALID_ARGUMENT', `the attention must be one of ${ATTENTIONS.join(', ')}`);
  }
  const phases = [WORKFLOW.task, WORKFLOW.dispatchTask, WORKFLOW.reopenTask].map(quoted).join(', ');
  const fields = { tenant: tenantId, status, agent, attention, project, parent, host };
  return [
    "ExecutionStatus = 'Running'",
    `WorkflowType IN (${phases})`,
    ...Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [`${SEARCH_ATTRIBUTE[name as keyof typeof fields].name} = ${quoted(value)}`],
    ),
    ...(query === undefined ? [] : [`(${query})`]),
  ].join(' AND ');
}

/** A string literal of the visibility language. A server on SQLite finds nothing that holds a backslash (measured). */
function quoted(value: string): string {
  if (value.includes('\\')) refuse('INVALID_ARGUMENT', 'a filter cannot hold a backslash');
  return `'${value.replaceAll("'", "''")}'`;
}

function listed(id: string, run: WorkflowExecutionInfo): ListedTask {
  const attribute = (name: keyof typeof SEARCH_ATTRIBUTE) =>
    run.typedSearchAttributes.get(SEARCH_ATTRIBUTE[name]) ?? null;
  const title = run.memo?.['title'];
  return {
    id,
    title: typeof title === 'string' ? title : '',
    status: attribute('status') ?? 'unknown',
    agent: attribute('agent'),
    host: attribute('host'),
    attention: attribute('attention'),
    thread: attribute('thread'),
    phase: run.type,
    startedAt: run.startTime.toISOString(),
  };
}
