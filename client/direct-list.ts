import { DIRECT_STATUSES } from '../contract/direct';
import type { Outcome } from '../contract/failures';
import { parseDirectWorkflowId, SEARCH_ATTRIBUTE, visibilityText, WORKFLOW } from '../contract/names';
import { outcomeOf, refuse } from './outcome';
import type { Session } from './session';
import { markedStale, visibleRuns } from './visible-runs';

export interface DirectFilter {
  readonly status?: string;
  readonly host?: string;
  /** How many at most; 100 unless told. */
  readonly limit?: number;
}

/** A direct task as lists show it; lists lag a moment behind and decide nothing. */
export interface ListedDirect {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly host: string | null;
  readonly startedAt: string;
}

export interface DirectList {
  readonly query: string;
  readonly tasks: ListedDirect[];
  readonly truncated?: true;
  /** Set when no worker serves the tasks: what a list shows may be older than the truth. */
  readonly stale?: true;
}

const LIMIT = 100;

/** Lists this tenant's direct tasks, also those that have ended, for as long as the server keeps them. */
export async function listDirect(session: Session, filter: DirectFilter = {}): Promise<Outcome<DirectList>> {
  return outcomeOf(() => markedStale(session, find(session, filter)));
}

async function find(session: Session, filter: DirectFilter): Promise<Omit<DirectList, 'stale'>> {
  const { tenantId } = session.home;
  const { limit = LIMIT } = filter;
  const query = queryOf(tenantId, filter);
  const tasks: ListedDirect[] = [];
  for await (const run of visibleRuns(session, { query, limit })) {
    const key = parseDirectWorkflowId(run.workflowId);
    if (key?.tenantId !== tenantId) continue;
    if (tasks.length === limit) return { query, tasks, truncated: true as const };
    const title: unknown = run.memo?.['title'];
    tasks.push({
      id: key.taskId,
      title: typeof title === 'string' ? title : '',
      status: run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.status) ?? 'unknown',
      host: run.typedSearchAttributes.get(SEARCH_ATTRIBUTE.host) ?? null,
      startedAt: run.startTime.toISOString(),
    });
  }
  return { query, tasks };
}

function queryOf(tenantId: string, { status, host }: DirectFilter): string {
  if (status !== undefined && !DIRECT_STATUSES.some((known) => known === status)) {
    refuse('INVALID_ARGUMENT', `the status must be one of ${DIRECT_STATUSES.join(', ')}`);
  }
  const equals = (name: keyof typeof SEARCH_ATTRIBUTE, value: string | undefined): string[] =>
    value === undefined ? [] : [`${SEARCH_ATTRIBUTE[name].name} = ${visibilityText(value)}`];
  return [
    `WorkflowType = ${visibilityText(WORKFLOW.directTask)}`,
    "ExecutionStatus != 'ContinuedAsNew'",
    ...equals('tenant', tenantId),
    ...equals('status', status),
    ...equals('host', host),
  ].join(' AND ');
}
