import { randomInt, randomUUID } from 'node:crypto';
import { TypedSearchAttributes, type SearchAttributePair } from '@temporalio/common';
import { WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { DEFAULT_AGENT, findAgent } from '../contract/agent';
import type { Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, taskWorkflowId, WORKFLOW, type PhaseType } from '../contract/names';
import { newTaskRecord } from '../contract/new-task';
import { hasRelations } from '../contract/relation';
import { dispatchSchema, dispatchUpdate, type DispatchAnswer, type Limits, type Policy } from '../contract/run';
import { newTaskSchema, type NewTask, type Task } from '../contract/task';
import { cutUtf8 } from '../contract/text';
import { outcomeOf, refuse } from './outcome';
import { findCodex } from './provider-check';
import { checkNewRelations } from './relations';
import { sendUpdate } from './send-update';
import { call, type Session } from './session';
import { chooseWorkspace, defaultWorkspace } from './workspace';

/** What a caller says about a new task; the rest has defaults. */
export interface TaskDraft {
  readonly title: string;
  readonly id?: string;
  readonly description?: string;
  /** Defaults to general-purpose. */
  readonly agentId?: string;
  /** Directory in a git repository; without it the one that the current directory is in, else a scratch one. */
  readonly workspace?: string;
  readonly parentId?: string;
  readonly dependencies?: string[];
  readonly metadata?: Record<string, string>;
  readonly priority?: NonNullable<NewTask['priority']>;
  readonly dueDate?: string;
  readonly requireReview?: boolean;
  readonly acceptance?: string[];
}

/** How a run shall go; what is left out comes from the home's configuration. */
export interface RunSettings {
  readonly policy?: Partial<Policy>;
  readonly limits?: Partial<Limits>;
  readonly completion?: 'caller' | 'criteria';
}

export interface CreatedTask {
  readonly task: Task;
  readonly warnings?: string[];
}

/** Creates a task at rest; it starts nothing (TR2). */
export async function createTask(session: Session, draft: TaskDraft): Promise<Outcome<CreatedTask>> {
  return outcomeOf(async () => {
    const { newTask, warnings } = await prepareTask(session, draft);
    const task = newTaskRecord(newTask);
    await checkNewRelations(session, newTask);
    await startPhase(session, { type: WORKFLOW.task, newTask, input: { create: newTask } });
    return { task, ...(warnings.length > 0 && { warnings }) };
  });
}

/** Creates a task and runs it at once; answers when the run is accepted. */
export async function runTask(session: Session, draft: TaskDraft, settings: RunSettings) {
  return outcomeOf(async (): Promise<Omit<DispatchAnswer, 'success'> & { warnings?: string[] }> => {
    const { newTask, warnings } = await prepareTask(session, draft);
    const dispatch = dispatchOrder(session, newTask.ownerId, settings);
    findCodex(session.env);
    if (hasRelations(newTask)) return runRelated(session, newTask, { dispatch, warnings });
    const attemptId = randomUUID();
    await startPhase(session, {
      type: WORKFLOW.dispatchTask,
      newTask,
      input: { create: newTask, dispatch, attemptId },
    });
    return { taskId: newTask.id, attemptId, mode: 'start', ...(warnings.length > 0 && { warnings }) };
  });
}

/** A task with relations is created first: its dispatch looks at the other tasks. */
async function runRelated(session: Session, newTask: NewTask, { dispatch, warnings }: RelatedRun) {
  await checkNewRelations(session, newTask);
  await startPhase(session, { type: WORKFLOW.task, newTask, input: { create: newTask } });
  const { success: _, ...answer } = await sendUpdate(session, newTask.id, {
    definition: dispatchUpdate,
    request: dispatch,
  });
  return { ...answer, ...(warnings.length > 0 && { warnings }) };
}

interface RelatedRun {
  readonly dispatch: ReturnType<typeof dispatchOrder>;
  readonly warnings: string[];
}

/** The whole order of a dispatch: flags over the home's configuration over the contract's defaults. */
export function dispatchOrder(session: Session, agentId: string, settings: RunSettings) {
  if (findAgent(agentId) === undefined) refuse('AGENT_NOT_FOUND', `there is no agent ${agentId}`);
  const { config } = session.home;
  return dispatchSchema.parse({
    agentId,
    actor: session.actor,
    requestId: randomUUID(),
    policy: { ...config.policy, ...settings.policy },
    limits: { ...config.limits, ...settings.limits },
    completion: settings.completion ?? 'caller',
  });
}

async function prepareTask(session: Session, draft: TaskDraft) {
  const { agentId = DEFAULT_AGENT, workspace, ...content } = draft;
  const { hostId, tenantId } = session.home;
  const given = {
    ...content,
    id: draft.id ?? newTaskId(),
    tenantId,
    ownerId: agentId,
    workspace: { hostId, path: null },
    actor: session.actor,
    createdAt: new Date().toISOString(),
  };
  const checked = newTaskSchema.parse(given);
  if (findAgent(agentId) === undefined) refuse('AGENT_NOT_FOUND', `there is no agent ${agentId}`);
  const { path, warnings } = await (workspace === undefined ? ownWorkspace() : chooseWorkspace(workspace));
  return { newTask: { ...checked, workspace: { hostId, path } } satisfies NewTask, warnings };
}

async function ownWorkspace() {
  let directory: string;
  try {
    directory = process.cwd();
  } catch {
    return { path: null, warnings: [] };
  }
  return defaultWorkspace(directory);
}

/** Letters and digits that nobody takes for one another. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** A task id that a person can read out: `T-` and 8 characters. */
export function newTaskId(): string {
  return `T-${Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)] ?? '0').join('')}`;
}

interface FirstPhase {
  readonly type: PhaseType;
  readonly newTask: NewTask;
  readonly input: object;
}

async function startPhase(session: Session, phase: FirstPhase): Promise<void> {
  const { newTask } = phase;
  const options: WorkflowStartOptions = {
    workflowId: taskWorkflowId({ tenantId: newTask.tenantId, taskId: newTask.id }),
    taskQueue: ORCHESTRATOR_QUEUE,
    args: [phase.input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowIdConflictPolicy: 'FAIL',
    typedSearchAttributes: new TypedSearchAttributes(firstAttributes(phase)),
    memo: { title: [...newTask.title].slice(0, 200).join('') },
    staticSummary: cutUtf8(newTask.title, 200),
  };
  try {
    await call(session, (client) => client.workflow.start(phase.type, options));
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    refuse('TASK_EXISTS', `task ${newTask.id} exists`, { taskId: newTask.id });
  }
}

/** What lists show of a task before its first workflow task. */
function firstAttributes({ type, newTask }: FirstPhase): SearchAttributePair[] {
  const project = newTask.metadata?.['projectId'];
  const keyword = (
    key: (typeof SEARCH_ATTRIBUTE)[keyof typeof SEARCH_ATTRIBUTE],
    value: unknown,
  ): SearchAttributePair[] =>
    typeof value === 'string' && value.trim() !== '' && value.length <= 200 ? [{ key, value }] : [];
  return [
    ...keyword(SEARCH_ATTRIBUTE.status, type === WORKFLOW.task ? 'pending' : 'in_progress'),
    ...keyword(SEARCH_ATTRIBUTE.tenant, newTask.tenantId),
    ...keyword(SEARCH_ATTRIBUTE.agent, newTask.ownerId),
    ...keyword(SEARCH_ATTRIBUTE.host, newTask.workspace.hostId),
    ...keyword(SEARCH_ATTRIBUTE.attention, type === WORKFLOW.task ? 'none' : 'running'),
    ...keyword(SEARCH_ATTRIBUTE.project, project),
    ...keyword(SEARCH_ATTRIBUTE.parent, newTask.parentId),
  ];
}
