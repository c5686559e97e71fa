import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowUpdateFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { cancellationSignal } from '@temporalio/activity';
import { createDeliveryActivities, createReceiptActivities } from '../../activities/receipts/activities';
import type { Webhook } from '../../activities/receipts/deliver';
import { openStore, type Store } from '../../activities/receipts/store';
import { createTaskActivities } from '../../activities/tasks/activities';
import type { RunOrder } from '../../contract/activities';
import { DEFAULT_AGENT } from '../../contract/agent';
import { hostQueue, ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { TypedSearchAttributes } from '@temporalio/common';
import { firstAttributes } from '../../client/create-task';
import { grpcStatus, isTaskFailure } from '../../client/temporal-failure';
import { payloadsOf } from '../../client/payloads';
import type { Session } from '../../client/session';
import {
  attemptsQuery,
  dispatchUpdate,
  limitsSchema,
  policySchema,
  RULES,
  type Attempt,
  type Dispatch,
  type DispatchAnswer,
  type StartedDispatch,
} from '../../contract/run';
import { taskQuery, type NewTask, type Task } from '../../contract/task';
import { DevServer, until } from './dev-server';
import type { ServerProcess } from './server-process';
import { FakeHost } from './fake-host';
import { until as untilFound } from './until';
import { createTaskServer } from '../../workers/task-server';
import { workflowBundle } from './root';

export const HOST = 'test-host';

export const newTask = (change: Partial<NewTask> = {}): NewTask => ({
  id: `T-${randomUUID().slice(0, 8)}`,
  tenantId: 'default',
  title: 'Say hello',
  ownerId: DEFAULT_AGENT,
  workspace: { hostId: HOST, path: null },
  actor: 'tester',
  createdAt: '2026-01-01T00:00:00.000Z',
  ...change,
});

/** The business id behind a task's workflow. */
export const idOf = ({ workflowId }: { workflowId: string }): string => workflowId.split('/').at(-1) ?? '';

/** How a stage begins. */
interface StageOptions {
  readonly isEmpty?: boolean;
  /** Dynamic configuration of the development server. */
  readonly settings?: readonly string[];
  /** Another server than the development one. */
  readonly startServer?: () => Promise<ServerProcess>;
  /** Puts activities of its own in the place of those that look at other tasks. */
  readonly play?: (real: RelatedActivities) => RelatedActivities;
}

type RelatedActivities = ReturnType<typeof createTaskActivities>;

/** A real server, real workflows and a scripted host. */
export class Stage {
  readonly host = new FakeHost();
  /** Where receipts are posted to. */
  webhook: Webhook | null = null;
  private workers: Worker[] = [];
  private running: Promise<void>[] = [];

  private constructor(
    readonly server: ServerProcess,
    readonly store: Store,
    private readonly own: {
      readonly connection: NativeConnection;
      readonly directory: string;
      readonly play: (real: RelatedActivities) => RelatedActivities;
    },
  ) {}

  /** Opens a stage whose workers run, unless it is to begin without any. */
  static async open({ isEmpty = false, settings = [], startServer, play }: StageOptions = {}): Promise<Stage> {
    if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
    const directory = await mkdtemp(join(tmpdir(), 'perdure-stage-'));
    const server = await (startServer ?? (() => DevServer.start(undefined, settings)))();
    const store = await openStore(join(directory, 'receipts.db'));
    const stage = new Stage(server, store, {
      connection: await NativeConnection.connect({ address: server.address }),
      directory,
      play: play ?? ((real) => real),
    });
    if (!isEmpty) await stage.startWorkers();
    return stage;
  }

  /** Starts the workers; of workflows that are not cached, each task replays the whole history. */
  async startWorkers(exact: { maxCachedWorkflows?: number; workflowBundle?: { code: string } } = {}): Promise<void> {
    const now = () => new Date().toISOString();
    const { connection } = this.own;
    const current = () => this.webhook;
    const deliveries = {
      store: this.store,
      get webhook() {
        return current();
      },
      now: () => new Date(),
      signal: cancellationSignal,
    };
    this.workers.push(
      await Worker.create({
        connection,
        taskQueue: ORCHESTRATOR_QUEUE,
        workflowBundle,
        disablePayloadErrorLimit: true,
        ...exact,
        activities: {
          ...createReceiptActivities({ store: this.store, now }),
          ...createDeliveryActivities(deliveries),
          ...this.own.play(createTaskActivities(createTaskServer(this.session))),
        },
      }),
      await Worker.create({ connection, taskQueue: hostQueue(HOST), activities: this.host.activities() }),
    );
    this.running.push(...this.workers.map((worker) => worker.run()));
  }

  /** Ends the workers and leaves the server with what it has. */
  async stopWorkers(): Promise<void> {
    for (const worker of this.workers) worker.shutdown();
    await Promise.all(this.running);
    [this.workers, this.running] = [[], []];
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.store.destroy();
    await this.own.connection.close();
    await this.server.stop();
    await rm(this.own.directory, { recursive: true, force: true });
  }

  /** A session on this stage, as a client of the product has one. */
  get session(): Session {
    const limits = limitsSchema.parse({});
    return {
      env: {},
      home: {
        path: this.own.directory,
        hostId: HOST,
        tenantId: 'default',
        config: { limits, policy: policySchema.parse({}), sweep: { intervalMs: 0 } },
      },
      actor: 'tester',
      plan: () => ({
        address: this.server.address,
        namespace: 'default',
        tls: undefined,
        apiKey: undefined,
        metadata: {},
        source: 'environment',
        payloads: payloadsOf({}),
      }),
      client: () => Promise.resolve(this.client),
      close: () => Promise.resolve(),
    };
  }

  get client(): Client {
    return this.server.client;
  }

  async create(change: Partial<NewTask> = {}): Promise<WorkflowHandle> {
    const create = newTask(change);
    return this.client.workflow.start(WORKFLOW.task, {
      workflowId: taskWorkflowId({ tenantId: create.tenantId, taskId: create.id }),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ create, version: RULES }],
      memo: { title: create.title },
      typedSearchAttributes: new TypedSearchAttributes(firstAttributes({ type: WORKFLOW.task, newTask: create })),
    });
  }

  /** Starts a run that lasts until it is released or stopped, and waits until the host has it. */
  async hold(handle: WorkflowHandle): Promise<RunOrder> {
    this.host.run = this.host.hold;
    const { attemptId } = await this.dispatch(handle);
    return this.orderOf(attemptId);
  }

  /** Waits until the host was asked to run an attempt. */
  orderOf(attemptId: string): Promise<RunOrder> {
    return untilFound(() => this.host.orders.find((order) => order.attemptId === attemptId));
  }

  /** Waits until lists show that a run of the workflow meets a condition. */
  listed({ workflowId }: WorkflowHandle, condition: string): Promise<void> {
    const query = `WorkflowId = '${workflowId}' AND ${condition}`;
    return until(async () => (await this.client.workflow.count(query)).count > 0);
  }

  readonly record = (handle: WorkflowHandle): Promise<Task> => handle.query(taskQuery);

  async lastAttempt(handle: WorkflowHandle): Promise<Attempt> {
    const attempt = (await handle.query(attemptsQuery)).at(-1);
    if (attempt === undefined) throw new Error('the task has no attempt');
    return attempt;
  }

  /** Dispatches, whatever comes of it; one that fell between two phases has done nothing, and is sent again. */
  async ask(handle: WorkflowHandle, change: Partial<Dispatch> = {}): Promise<DispatchAnswer> {
    for (;;) {
      try {
        return await handle.executeUpdate(dispatchUpdate, { args: [{ agentId: DEFAULT_AGENT, ...change }] });
      } catch (error) {
        const status = grpcStatus(error);
        if (status === undefined || !isTaskFailure(status)) throw error;
      }
    }
  }

  /** Dispatches a task whose run begins at once. */
  async dispatch(handle: WorkflowHandle, change: Partial<Dispatch> = {}): Promise<StartedDispatch> {
    const answer = await this.ask(handle, change);
    if (!('attemptId' in answer)) throw new Error(`no run began: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Dispatches and waits until the attempt has settled and the task is at rest again. */
  async settle(handle: WorkflowHandle, change: Partial<Dispatch> = {}): Promise<Attempt> {
    const { attemptId } = await this.dispatch(handle, change);
    return this.settled(handle, attemptId);
  }

  async settled(handle: WorkflowHandle, attemptId: string): Promise<Attempt> {
    await until(async () => {
      const attempt = await this.lastAttempt(handle);
      const { type } = await handle.describe();
      return attempt.attemptId === attemptId && attempt.settledAt !== null && type === 'task';
    });
    return this.lastAttempt(handle);
  }
}

/** The code that an update was refused or failed with. */
export async function codeOf(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    return (error.cause as { type?: string } | undefined)?.type ?? String(error.cause);
  }
  throw new Error('the update was accepted');
}
