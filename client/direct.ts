import { createHash } from 'node:crypto';
import { TypedSearchAttributes } from '@temporalio/common';
import { WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { isDeadlinePassed, newDirectTaskSchema, type NewDirectTask } from '../contract/direct';
import type { Outcome } from '../contract/failures';
import { directWorkflowId, ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, WORKFLOW } from '../contract/names';
import type { Limits } from '../contract/run';
import { cutUtf8 } from '../contract/text';
import { newTaskId } from './create-task';
import { directHandle } from './direct-record';
import { outcomeOf, refuse } from './outcome';
import { missingPollers } from './pollers';
import { findCodex } from './provider-check';
import { call, type Session } from './session';
import { chooseRepository } from './workspace';

/** What a caller says about a new direct task; the rest has defaults. */
export interface DirectDraft {
  readonly instruction: string;
  /** Directory in a git repository of this host: the provider works in the repository itself. */
  readonly repository: string;
  readonly permissionMode: string;
  readonly id?: string;
  readonly operation?: string;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
  /** ISO 8601, with any offset. */
  readonly deadlineAt?: string;
  /** Needed for the permission mode `full-access`. */
  readonly allowFullAccess?: boolean;
}

export interface StartedDirect {
  readonly taskId: string;
  readonly status: 'queued';
  /** Set when the same start had been accepted before. */
  readonly repeated?: true;
  readonly warnings?: string[];
}

/** Starts a direct task once: the same start again answers alike, another one of that id is refused (DW-18). */
export async function startDirect(session: Session, draft: DirectDraft): Promise<Outcome<StartedDirect>> {
  return outcomeOf(async () => {
    const { create, warnings } = await prepare(session, draft);
    const taskId = create.id;
    const isNew = await start(session, create);
    // A task that nobody may take up is worth a word, and no wait of its own.
    const absent = await missingPollers(session, create.hostId).catch(() => []);
    const all = [...warnings, ...absent];
    return {
      taskId,
      status: 'queued' as const,
      ...(!isNew && { repeated: true as const }),
      ...(all.length > 0 && { warnings: all }),
    };
  }, draft.id);
}

async function prepare(session: Session, draft: DirectDraft) {
  const { repository, limits, deadlineAt, ...given } = draft;
  const { hostId, tenantId, config } = session.home;
  const content = {
    ...given,
    id: draft.id ?? newTaskId(),
    tenantId,
    hostId,
    repositoryPath: '/',
    limits: { ...config.limits, ...limits },
    model: draft.model ?? config.policy.model,
    deadlineAt: deadlineAt === undefined ? null : instantOf(deadlineAt),
    actor: session.actor,
    createdAt: new Date().toISOString(),
  };
  const checked = newDirectTaskSchema.parse(content);
  if (isDeadlinePassed(checked)) {
    refuse('deadline_passed', `the deadline ${deadlineAt ?? ''} is over`, { taskId: checked.id });
  }
  const { path, warnings } = await chooseRepository(repository);
  const create = newDirectTaskSchema.parse({ ...checked, repositoryPath: path });
  findCodex(session.env);
  return { create, warnings };
}

/** The same moment in UTC; what is no moment goes on as it is, for the schema to refuse. */
function instantOf(given: string): string {
  const ms = Date.parse(given);
  return Number.isNaN(ms) ? given : new Date(ms).toISOString();
}

/** Starts the workflow; false when this very task had been started before. */
async function start(session: Session, create: NewDirectTask): Promise<boolean> {
  const digest = digestOf(create);
  try {
    await call(session, (client) => client.workflow.start(WORKFLOW.directTask, startOf(create, digest)));
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  const handle = await directHandle(session, create.id);
  const { memo } = await call(session, () => handle.describe());
  if (memo?.['digest'] === digest) return false;
  return refuse('TASK_EXISTS', `direct task ${create.id} exists with other content`, {
    hint: 'Choose another id, or look at that task with `perdure direct show`.',
    taskId: create.id,
  });
}

/** How a direct task begins on the server: once for as long as the server keeps its record. */
export function startOf(create: NewDirectTask, digest = digestOf(create)): WorkflowStartOptions {
  const { tenantId, id: taskId, hostId, instruction } = create;
  const title = cutUtf8(instruction.trim().split('\n')[0] ?? '', 200);
  return {
    workflowId: directWorkflowId({ tenantId, taskId }),
    taskQueue: ORCHESTRATOR_QUEUE,
    args: [{ create }],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowIdConflictPolicy: 'FAIL',
    typedSearchAttributes: new TypedSearchAttributes([
      { key: SEARCH_ATTRIBUTE.status, value: 'queued' },
      { key: SEARCH_ATTRIBUTE.tenant, value: tenantId },
      { key: SEARCH_ATTRIBUTE.host, value: hostId },
      { key: SEARCH_ATTRIBUTE.attention, value: 'running' },
    ]),
    memo: { title, digest },
    staticSummary: title,
  };
}

/** Fingerprint of what a start asks for, whoever sends it and when. */
function digestOf({ actor: _actor, createdAt: _createdAt, ...content }: NewDirectTask): string {
  const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}
