import type { WorkflowExecutionInfo } from '@temporalio/client';
import { ATTENTIONS } from '../contract/attention';
import type { Outcome } from '../contract/failures';
import { parseTaskWorkflowId, SEARCH_ATTRIBUTE, visibilityText, WORKFLOW } from '../contract/names';
import { taskStatus } from '../contract/task';
import { outcomeOf, refuse } from './outcome';
import type { Session } from './session';
import { markedStale, visibleRuns } from './visible-runs';

export interface TaskFilter {
  readonly status?: string;
  readonly agent?: string;
  readonly attention?: string;
  readonly project?: string;
  readonly parent?: string;
  readonly host?: string;
  readonly thread?: string;
  /** A visibility condition of the caller's own, added to the others. */
  readonly query?: string;
  /** How many tasks at most; 100 unless told. */
  readonly limit?: number;
}

/** The tasks of a filter, and the one visibility query that it stands for. */
export interface TaskList {
  readonly query: string;
  readonly tasks: ListedTask[];
  /** Set when there are more. */
  readonly truncated?: true;
  /** Set when no worker serves the tasks: what a list shows may be older than the truth. */
  readonly stale?: true;
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

/** Lists this tenant's open tasks, the newest phase first. */
export async function listTasks(session: Session, filter: TaskFilter = {}): Promise<Outcome<TaskList>> {
  return outcomeOf(() => markedStale(session, findTasks(session, filter)));
}

/** The visibility query of a filter, without asking anybody. */
export async function queryOfList(session: Session, filter: TaskFilter): Promise<Outcome<{ query: string }>> {
  return outcomeOf(() => Promise.resolve({ query: listQuery(session.home.tenantId, filter) }));
}

/** The tasks that visibility knows of, as it knows them. */
export async function findTasks(session: Session, filter: TaskFilter): Promise<Omit<TaskList, 'stale'>> {
  const { tenantId } = session.home;
  const { limit = LIMIT } = filter;
  const query = listQuery(tenantId, filter);
  const tasks: ListedTask[] = [];
  for await (const run of visibleRuns(session, { query, limit })) {
    const key = parseTaskWorkflowId(run.workflowId);
    if (key?.tenantId !== tenantId) continue;
    if (tasks.length === limit) return { query, tasks, truncated: true as const };
    tasks.push(listed(key.taskId, run));
  }
  return { query, tasks };
}

/** The visibility query of a filter: only running phases, because closed ones stay visible for the retention time. */
export function listQuery(tenantId: string, filter: TaskFilter = {}): string {
  const { status, agent, attention, project, parent, host, thread, query } = filter;
  if (status !== undefined && !taskStatus.safeParse(status).success) {
    refuse('INVALID_ARGUMENT', `the status must be one of ${taskStatus.options.join(', ')}`);
  }
  if (attention !== undefined && !ATTENTIONS.some((word) => word === attention)) {
    refuse('INVALID_ARGUMENT', `the attention must be one of ${ATTENTIONS.join(', ')}`);
  }
  const phases = [WORKFLOW.task, WORKFLOW.dispatchTask, WORKFLOW.reopenTask].map(quoted).join(', ');
  const fields = { tenant: tenantId, status, agent, attention, project, parent, host, thread };
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
  return visibilityText(value);
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
