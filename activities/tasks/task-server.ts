import type { Outcome } from '../../contract/failures';
import type { ProjectKey, TaskKey } from '../../contract/names';
import type { QueuedTask } from '../../contract/project';

/** A run of one of our workflows, as visibility lists it. */
export interface SeenRun {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  /** `RUNNING`, `TERMINATED`, ... as the server names it. */
  readonly status: string;
  readonly closedAt: string | null;
  readonly memo: Readonly<Record<string, unknown>>;
}

/** What the activities need of a Temporal client. A workflow that is not there rejects with `WorkflowNotFoundError`. */
export interface TaskServer {
  /** Asks a workflow, its newest run unless one is named. */
  query(workflowId: string, name: string, runId?: string): Promise<unknown>;
  /** Sends an update to a task; a refusal is a value, with the code of the one table. */
  update(
    task: TaskKey,
    name: string,
    request: { requestId: string } & Record<string, unknown>,
  ): Promise<Outcome<object>>;
  /** Signals a project's queue, and begins it where there is none. */
  enqueue(project: ProjectKey, queued: QueuedTask): Promise<void>;
  /** Begins a project's queue where there is none; it finds out by itself what an ended one knew. */
  beginProject(project: ProjectKey): Promise<void>;
  /** Runs that a visibility query finds, the newest first. */
  list(query: string, limit: number): Promise<SeenRun[]>;
  /** The newest run of a workflow id. */
  newest(workflowId: string): Promise<SeenRun>;
  /** What a run was started with. */
  inputOf(run: SeenRun): Promise<object>;
  /** Begins a chain again after a closed run, with its attributes; false when another run is open. */
  restart(closed: SeenRun, phase: string, input: object): Promise<boolean>;
}

/** Whether an error says that there is no such workflow. */
export const isNotFound = (error: unknown): boolean => error instanceof Error && error.name === 'WorkflowNotFoundError';

/** Answers null for a run that was ended before its first task: it holds nothing. Any other trouble is thrown on. */
export function neverBegun(error: unknown): null {
  if (error instanceof Error && /closed before WorkflowTaskStarted/i.test(error.message)) return null;
  throw error;
}
