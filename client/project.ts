import { TypedSearchAttributes, type UpdateDefinition } from '@temporalio/common';
import { WithStartWorkflowOperation, WorkflowNotFoundError } from '@temporalio/client';
import { invalidArgument, type Outcome } from '../contract/failures';
import { ORCHESTRATOR_QUEUE, projectWorkflowId, SEARCH_ATTRIBUTE, WORKFLOW, type ProjectKey } from '../contract/names';
import {
  limitSchema,
  pauseSchema,
  pauseUpdate,
  projectQuery,
  resumeUpdate,
  setLimitUpdate,
  withdrawUpdate,
  type Project,
} from '../contract/project';
import { id } from '../contract/text';
import { outcomeOf, refuse } from './outcome';
import { ask, call, QUERY_MS, type Session } from './session';

/** Milliseconds that a worker has to begin a queue and to answer for it. */
const BEGIN_MS = 20_000;

/** A project's queue: its limit, what runs, what waits in which order, and what left it without a run. */
export interface ShownProject {
  readonly project: Project;
}

/** How a project's queue is begun, by whoever needs it first. */
export const projectStart = ({ tenantId, projectId }: ProjectKey) => ({
  workflowId: projectWorkflowId({ tenantId, projectId }),
  taskQueue: ORCHESTRATOR_QUEUE,
  args: [{ tenantId, projectId }] as [object],
  typedSearchAttributes: new TypedSearchAttributes([
    { key: SEARCH_ATTRIBUTE.tenant, value: tenantId },
    { key: SEARCH_ATTRIBUTE.project, value: projectId },
  ]),
});

/** Shows a project's queue; refuses with PROJECT_NOT_FOUND when there is none. */
export async function showProject(session: Session, projectId: string): Promise<Outcome<ShownProject>> {
  return outcomeOf(async () => {
    if (await isEnded(session, projectId)) await beginProject(session, keyOf(session, projectId));
    return { project: await readProject(session, projectId) };
  });
}

/** Whether somebody has ended a project's queue from outside. */
async function isEnded(session: Session, projectId: string): Promise<boolean> {
  const { workflowId } = projectStart(keyOf(session, projectId));
  try {
    const { status } = await call(session, (client) => client.workflow.getHandle(workflowId).describe());
    return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Begins a project's queue where none is open; it takes over what an ended one knew. */
export async function beginProject(session: Session, project: ProjectKey): Promise<void> {
  const start = { ...projectStart(project), workflowIdConflictPolicy: 'USE_EXISTING' as const };
  await call(session, (client) => client.workflow.start(WORKFLOW.project, start));
}

/** Takes a task out of its project's queue; false when it does not wait there. */
export async function withdrawTask(session: Session, projectId: string, taskId: string): Promise<boolean> {
  const { workflowId } = projectStart(keyOf(session, projectId));
  const request = { actor: session.actor, taskId };
  const { withdrawn } = await ask(session, BEGIN_MS, (client) =>
    client.workflow.getHandle(workflowId).executeUpdate(withdrawUpdate, { args: [request] }),
  );
  return withdrawn;
}

/** Lets a project begin no more tasks; what runs goes on. */
export const pauseProject = (session: Session, projectId: string): Promise<Outcome<ShownProject>> =>
  setProject(session, projectId, { definition: pauseUpdate, request: pauseSchema.parse({ actor: session.actor }) });

/** Lets a paused project go on. */
export const resumeProject = (session: Session, projectId: string): Promise<Outcome<ShownProject>> =>
  setProject(session, projectId, { definition: resumeUpdate, request: pauseSchema.parse({ actor: session.actor }) });

/** Sets how many tasks of a project run at once, 1 to 1,000; what runs beyond that goes on to its end. */
export async function limitProject(session: Session, projectId: string, limit: number): Promise<Outcome<ShownProject>> {
  const request = limitSchema.safeParse({ actor: session.actor, limit });
  if (!request.success) return invalidArgument(request.error);
  return setProject(session, projectId, { definition: setLimitUpdate, request: request.data });
}

/** Reads a project's queue from its worker. */
export async function readProject(session: Session, projectId: string): Promise<Project> {
  const { workflowId } = projectStart(keyOf(session, projectId));
  try {
    return await ask(session, QUERY_MS, (client) => client.workflow.getHandle(workflowId).query(projectQuery));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return refuse('PROJECT_NOT_FOUND', `project ${projectId} has no queue`);
  }
}

interface Setting<R> {
  readonly definition: UpdateDefinition<Project, [R]>;
  readonly request: R;
}

/** Sends a setting to a project's queue, which begins with it where there is none. */
async function setProject<R>(
  session: Session,
  projectId: string,
  { definition, request }: Setting<R>,
): Promise<Outcome<ShownProject>> {
  return outcomeOf(async () => {
    const start = projectStart(keyOf(session, projectId));
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOW.project, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const project = await ask(session, BEGIN_MS, (client) =>
      client.workflow.executeUpdateWithStart(definition, { args: [request], startWorkflowOperation }),
    );
    return { project };
  });
}

function keyOf(session: Session, projectId: string): ProjectKey {
  const parsed = id.safeParse(projectId);
  if (!parsed.success) return refuse('INVALID_ARGUMENT', `the project id ${invalidArgument(parsed.error).error}`);
  return { tenantId: session.home.tenantId, projectId };
}
