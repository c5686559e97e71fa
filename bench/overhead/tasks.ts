import { join } from 'node:path';
import {
  createTask,
  dispatchTask,
  redispatchTask,
  runTask,
  setTaskStatus,
  stopTask,
  waitSettled,
  type RunSettings,
  type TaskDraft,
} from '../../client/index';
import { taskHandle } from '../../client/session';
import type { Outcome } from '../../contract/failures';
import type { LocalStage } from '../../scripts/stage/local-stage';
import { HOLD } from './stub';
import { now } from './figures';

const quiet = (): void => undefined;

/** What an operation answered; a refusal ends the bench. */
export function valueOf<T>(outcome: Outcome<T>): { success: true } & T {
  if (!outcome.success) throw new Error(`${outcome.code}: ${outcome.error}`);
  return outcome;
}

/** A dispatch that was accepted, and when; milliseconds since 1970. */
export interface Dispatched {
  readonly taskId: string;
  readonly attemptId: string;
  readonly requestedAt: number;
  readonly acceptedAt: number;
}

/** What the bench does with tasks, all of it through the product's own client. */
export class Tasks {
  constructor(
    readonly stage: LocalStage,
    private readonly repository: string,
  ) {}

  directoryOf({ attemptId }: Dispatched): string {
    return join(this.stage.home, 'runs', attemptId);
  }

  async create(content: Partial<TaskDraft> = {}): Promise<string> {
    const draft = { title: 'a task of the bench', workspace: this.repository, ...content };
    return valueOf(await createTask(this.stage.session, draft)).task.id;
  }

  async dispatch(taskId: string, settings: RunSettings = {}): Promise<Dispatched> {
    const requestedAt = now();
    const { attemptId } = started(valueOf(await dispatchTask(this.stage.session, { taskId, ...settings })));
    return { taskId, attemptId, requestedAt, acceptedAt: now() };
  }

  /** Asks for a run that begins later, by a project's queue or after a dependency. */
  async dispatchLater(taskId: string, settings: RunSettings = {}): Promise<void> {
    valueOf(await dispatchTask(this.stage.session, { taskId, ...settings }));
  }

  /** Reopens a completed task and runs it again on its thread. */
  async runAgain(taskId: string): Promise<Dispatched> {
    const requestedAt = now();
    const { attemptId } = valueOf(await redispatchTask(this.stage.session, { taskId, keepThread: true }));
    return { taskId, attemptId, requestedAt, acceptedAt: now() };
  }

  /** Creates and dispatches in one step; the engine records the outcome. */
  async run(description = 'Do nothing.'): Promise<Dispatched> {
    const requestedAt = now();
    const draft = { title: 'a task of the bench', description, workspace: this.repository };
    const accepted = started(valueOf(await runTask(this.stage.session, draft, { completion: 'criteria' })));
    return { taskId: accepted.taskId, attemptId: accepted.attemptId, requestedAt, acceptedAt: now() };
  }

  hold(): Promise<Dispatched> {
    return this.run(HOLD);
  }

  async settled(task: Dispatched): Promise<string> {
    const result = valueOf(await waitSettled(this.stage.session, task, quiet));
    return result.executionResultId ?? '';
  }

  /** Waits until a run has settled, whatever way. */
  async ended(task: Dispatched): Promise<void> {
    await waitSettled(this.stage.session, task, quiet);
  }

  /** Records the outcome as a caller does. */
  async complete(taskId: string, executionResultId: string): Promise<void> {
    const change = { status: 'completed', result: 'done', executionResultId } as const;
    valueOf(await setTaskStatus(this.stage.session, taskId, change));
  }

  async stop({ taskId }: Dispatched): Promise<void> {
    valueOf(await stopTask(this.stage.session, { taskId }, quiet));
  }

  handle(taskId: string, runId?: string) {
    return taskHandle(this.stage.session, taskId, runId);
  }
}

/** The answer of a dispatch that began a run. */
function started<T extends object>(answer: T): Extract<T, { attemptId: string }> {
  if ('attemptId' in answer) return answer as Extract<T, { attemptId: string }>;
  throw new Error(`no run began: ${JSON.stringify(answer)}`);
}
