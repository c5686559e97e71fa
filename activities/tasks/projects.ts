import type { ProjectActivities } from '../../contract/activities';
import { codedFailure } from '../../contract/coded-failure';
import type { Failure } from '../../contract/failures';
import {
  ENDED,
  parseProjectWorkflowId,
  projectWorkflowId,
  taskWorkflowId,
  visibilityText,
  WORKFLOW,
  type TaskKey,
} from '../../contract/names';
import {
  projectQuery,
  projectSchema,
  roomQuery,
  roomSchema,
  type ManagedStart,
  type Project,
  type QueuedTask,
  type Room,
} from '../../contract/project';
import { attemptOf, attemptSchema, dispatchSchema, type Attempt } from '../../contract/run';
import { isNotFound, neverBegun, type TaskServer } from './task-server';

/** Makes the activities between tasks and their projects' queues. */
export function createProjectActivities(server: TaskServer): ProjectActivities {
  return {
    async enqueueTask({ task: { tenantId }, projectId, queued }) {
      const workflowId = projectWorkflowId({ tenantId, projectId });
      const room = await ask(server, workflowId, roomQuery.name);
      const { isFull, length } = room === null ? NO_QUEUE : roomSchema.parse(room);
      if (isFull && !(await isQueued(server, workflowId, queued.taskId))) {
        throw codedFailure('PROJECT_FULL', `${String(length)} tasks wait in project ${projectId}`);
      }
      await server.enqueue({ tenantId, projectId }, withoutDefaults(queued));
    },
    async startManaged({ task, projectId, queued, requestId }) {
      const dispatch = { ...queued.order, requestId, completion: 'criteria', managedBy: projectId, whenReady: true };
      const outcome = await server.update(task, 'dispatch', dispatch);
      if (outcome.success) return started(outcome, projectId);
      const running = outcome.code === 'TASK_NOT_DISPATCHABLE' ? await runOf(server, task, projectId) : undefined;
      return running === undefined ? refused(outcome) : { kind: 'started', attemptId: running };
    },
    async findSettled({ tenantId, running }) {
      const settled: string[] = [];
      for (const { taskId, attemptId } of running) {
        if (await hasSettled(server, { tenantId, taskId }, attemptId)) settled.push(attemptId);
      }
      return settled;
    },
    reviveProjects: ({ tenantId }) => reviveProjects(server, tenantId),
    recoverProject: ({ tenantId, projectId }) => recover(server, projectWorkflowId({ tenantId, projectId })),
  };
}

/** A queue is long: what every dispatch has by default is not kept in it. */
function withoutDefaults({ order, ...task }: QueuedTask): QueuedTask {
  const { policy, limits, ...rest } = order;
  const usual = dispatchSchema.parse({ agentId: rest.agentId });
  const isUsual = (given: object | undefined, value: object) => JSON.stringify(given) === JSON.stringify(value);
  return {
    ...task,
    order: {
      ...rest,
      ...(policy !== undefined && !isUsual(policy, usual.policy) && { policy }),
      ...(limits !== undefined && !isUsual(limits, usual.limits) && { limits }),
    },
  };
}

function started(answer: object, projectId: string): ManagedStart {
  if ('attemptId' in answer) return { kind: 'started', attemptId: String(answer.attemptId) };
  if ('waitsFor' in answer) return { kind: 'waiting' };
  return { kind: 'refused', code: 'TASK_STATUS_CONFLICT', error: `the task has left project ${projectId}` };
}

const attemptsOf = async (server: TaskServer, task: TaskKey): Promise<Attempt[]> =>
  attemptSchema.array().parse(await server.query(taskWorkflowId(task), 'attempts'));

/** The run of a task that its project began and lost sight of, because somebody ended the queue. */
async function runOf(server: TaskServer, task: TaskKey, projectId: string): Promise<string | undefined> {
  const last = (await attemptsOf(server, task)).at(-1);
  const isRunning = last?.managedBy === projectId && last.settledAt === null;
  return isRunning ? (last.firstAttemptId ?? last.attemptId) : undefined;
}

/** A refusal of the task is an answer; a server or a worker that is away is tried again. */
function refused({ code, error }: Failure): ManagedStart {
  const isAway = code === 'TEMPORAL_UNREACHABLE' || code === 'WORKER_SILENT' || code === 'TEMPORAL_REFUSED';
  if (isAway) throw new Error(`${code}: ${error}`);
  return { kind: 'refused', code, error };
}

/** Whether a run holds its slot no more; one whose workflow was ended from outside is judged by the sweep first. */
async function hasSettled(server: TaskServer, task: TaskKey, attemptId: string): Promise<boolean> {
  try {
    const attempt = attemptOf(await attemptsOf(server, task), attemptId);
    return attempt === undefined || attempt.settledAt !== null;
  } catch (error) {
    return isNotFound(error);
  }
}

/** Queues that a look finds ended, at most: closed runs stay visible for the retention time. */
const LISTED = 1_000;

async function reviveProjects(server: TaskServer, tenantId: string | null): Promise<number> {
  const ended = await server.list(`WorkflowType = '${WORKFLOW.project}' AND ${ENDED}`, LISTED);
  let revived = 0;
  for (const workflowId of new Set(ended.map((run) => run.workflowId))) {
    const project = parseProjectWorkflowId(workflowId);
    if (project === undefined || (tenantId !== null && project.tenantId !== tenantId)) continue;
    if ((await server.newest(workflowId)).status === 'RUNNING') continue;
    await server.beginProject(project);
    revived += 1;
  }
  return revived;
}

/** Closed runs of a queue that are gone through, the newest first. */
const EARLIER = 20;

/** What the last queue of the project knew that had taken over what was before it, or null. */
async function recover(server: TaskServer, workflowId: string): Promise<Project | null> {
  const query = `WorkflowId = ${visibilityText(workflowId)} AND WorkflowType = '${WORKFLOW.project}' AND ${ENDED}`;
  for (const { runId } of await server.list(query, EARLIER)) {
    const held = await server.query(workflowId, 'project', runId).catch(neverBegun);
    const known = held === null ? undefined : projectSchema.parse(held);
    if (known?.isRecovered === true) return known;
  }
  return null;
}

const NO_QUEUE: Room = { isFull: false, length: 0 };

/** Whether a task waits in a queue already: then it only keeps its place. */
async function isQueued(server: TaskServer, workflowId: string, taskId: string): Promise<boolean> {
  const project = await ask(server, workflowId, projectQuery.name);
  return project !== null && projectSchema.parse(project).queue.some((task) => task.taskId === taskId);
}

/** What a queue answers; null when there is none. */
async function ask(server: TaskServer, workflowId: string, name: string): Promise<unknown> {
  try {
    return await server.query(workflowId, name);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
