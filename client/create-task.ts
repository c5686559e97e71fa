import { randomInt, randomUUID } from 'node:crypto';
import { TypedSearchAttributes, type SearchAttributePair } from '@temporalio/common';
import { WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { DEFAULT_AGENT, findAgent } from '../contract/agent';
import { refuseUnprovable, type Supervise } from '../contract/delivery';
import type { Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE, taskWorkflowId, WORKFLOW, type PhaseType } from '../contract/names';
import { newTaskRecord } from '../contract/new-task';
import { hasRelations } from '../contract/relation';
import { projectOf } from '../contract/project';
import {
  dispatchSchema,
  dispatchUpdate,
  RULES,
  type Limits,
  type ManagedDispatch,
  type Policy,
  type StartedDispatch,
  type WaitingDispatch,
} from '../contract/run';
import { CLEAN_TREE } from '../contract/shell';
import { newTaskSchema, type NewTask, type Task } from '../contract/task';
import { cutUtf8 } from '../contract/text';
import { outcomeOf, refuse, RefusedError, toFailure } from './outcome';
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
  /** Runs the task by itself when what it depends on has completed. */
  readonly auto?: boolean;
}

/** How a run shall go; what is left out comes from the home's configuration. */
export interface RunSettings {
  readonly policy?: Partial<Policy>;
  readonly limits?: Partial<Limits>;
  readonly completion?: 'caller' | 'criteria';
  /** A fresh thread, where the stored one would be continued. */
  readonly replaceThread?: boolean;
  /** Waits for dependencies that are not completed, instead of being refused. */
  readonly whenReady?: boolean;
  /** Attempts in a row until the acceptance criteria are proven, instead of one. */
  readonly supervise?: Supervise;
  /** What a usage limit of the account does; it is waited for unless told otherwise. */
  readonly onUsageLimit?: 'wait' | 'fail';
}

export interface CreatedTask {
  readonly task: Task;
  readonly warnings?: string[];
}

/** Creates a task at rest; it starts nothing (TR2). */
export async function createTask(session: Session, draft: TaskDraft): Promise<Outcome<CreatedTask>> {
  return outcomeOf(async () => {
    const { auto = false, ...content } = draft;
    const { newTask, warnings } = await prepareTask(session, content);
    return warned(warnings, () => storeTask(session, newTask, auto));
  });
}

/** A run that begins by itself has no caller: the engine records its outcome, so that a chain of tasks goes on. */
export const BY_ITSELF = { whenReady: true, completion: 'criteria' } as const;

async function storeTask(session: Session, newTask: NewTask, auto: boolean): Promise<CreatedTask> {
  const task = newTaskRecord(newTask);
  if (auto && task.dependencies.length === 0) {
    refuse('INVALID_ARGUMENT', 'a task that depends on nothing cannot start by itself', {
      hint: 'Name what it waits for with --depends-on, or dispatch it.',
    });
  }
  const awaiting = auto ? dispatchOrder(session, newTask.ownerId, BY_ITSELF) : undefined;
  await checkNewRelations(session, newTask);
  await startPhase(session, { type: WORKFLOW.task, newTask, input: { create: newTask, awaiting } });
  return { task };
}

/** Gives the warnings of a preparation with the answer, and with a refusal that follows as well (GN6). */
async function warned<T extends object>(warnings: string[], work: () => Promise<T>): Promise<T> {
  if (warnings.length === 0) return work();
  try {
    return { ...(await work()), warnings };
  } catch (error) {
    const known = toFailure(error);
    if (known === undefined) throw error;
    throw new RefusedError({ ...known, warnings });
  }
}

/** A dispatch that was accepted: a run, or a place in a project's queue, or a wait for dependencies. */
export type Accepted = (
  Omit<StartedDispatch, 'success'> | Omit<ManagedDispatch, 'success'> | Omit<WaitingDispatch, 'success'>
) & { readonly warnings?: string[] };

/** Creates a task and runs it at once; answers when the run is accepted. */
export async function runTask(session: Session, draft: TaskDraft, settings: RunSettings): Promise<Outcome<Accepted>> {
  return outcomeOf(async (): Promise<Accepted> => {
    const { auto: whenReady, ...content } = draft;
    const { newTask, warnings } = await prepareTask(session, content);
    const run = { ...settings, ...(whenReady === true && { whenReady }) };
    const { policy } = session.home.config;
    const unclean = cleanTreeWarnings(newTask.acceptance, { ...policy, ...settings.policy });
    return warned<Accepted>([...warnings, ...unclean], () => runNewTask(session, newTask, run));
  });
}

/** Warns of a criterion that an agent cannot meet once it has changed something: Codex's sandbox keeps git from it. */
export function cleanTreeWarnings(acceptance: readonly string[] = [], { sandbox }: Pick<Policy, 'sandbox'>): string[] {
  if (sandbox === 'danger-full-access' || !acceptance.includes(CLEAN_TREE)) return [];
  const why = `in the sandbox ${sandbox} the agent cannot commit, so --accept-clean fails once it leaves a change behind`;
  return [`${why}; --sandbox danger-full-access lets it commit`];
}

type PreparedTask = Awaited<ReturnType<typeof prepareTask>>['newTask'];

async function runNewTask(session: Session, newTask: PreparedTask, settings: RunSettings): Promise<Accepted> {
  const dispatch = dispatchOrder(session, newTask.ownerId, settings);
  // The workflow would refuse it as well, but only once the id is taken.
  const unprovable = refuseUnprovable(newTask, settings.supervise);
  if (unprovable !== null) throw new RefusedError(unprovable);
  findCodex(session.env);
  const isAlone = !hasRelations(newTask) && projectOf(newTask) === null;
  if (!isAlone) return runRelated(session, newTask, dispatch);
  const attemptId = randomUUID();
  await startPhase(session, { type: WORKFLOW.dispatchTask, newTask, input: { create: newTask, dispatch, attemptId } });
  return { taskId: newTask.id, attemptId, mode: 'start' };
}

/** A task with relations or a project is created first: its dispatch looks at the others. */
async function runRelated(
  session: Session,
  newTask: NewTask,
  dispatch: ReturnType<typeof dispatchOrder>,
): Promise<Accepted> {
  await checkNewRelations(session, newTask);
  await startPhase(session, { type: WORKFLOW.task, newTask, input: { create: newTask } });
  const { success: _, ...answer } = await sendUpdate(session, newTask.id, {
    definition: dispatchUpdate,
    request: dispatch,
  });
  return answer;
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
    replaceThread: settings.replaceThread,
    whenReady: settings.whenReady,
    supervise: settings.supervise,
    onUsageLimit: settings.onUsageLimit,
  });
}

async function prepareTask(session: Session, draft: Omit<TaskDraft, 'auto'>) {
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
    args: [{ ...phase.input, version: RULES }],
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
export function firstAttributes({ type, newTask }: Pick<FirstPhase, 'type' | 'newTask'>): SearchAttributePair[] {
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
