import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { projectStart } from '../../client/project';
import type { ProjectActivities } from '../../contract/activities';
import { DEFAULT_AGENT } from '../../contract/agent';
import { ORCHESTRATOR_QUEUE, WORKFLOW } from '../../contract/names';
import { projectQuery, taskDispatchedSignal, type RunningTask } from '../../contract/project';
import { workflowBundle } from './root';
import { until, type ServerProcess } from './server-process';

/** A real project queue whose tasks are scripted: a run lasts until it is among the settled ones. */
export class ScriptedQueue {
  readonly settled: string[] = [];
  /** How often the queue has looked at its runs. */
  looks = 0;
  private readonly ran: Promise<void>;

  private constructor(
    private readonly connection: NativeConnection,
    private readonly worker: Worker,
    readonly handle: WorkflowHandle,
  ) {
    this.ran = worker.run();
  }

  /** Begins a queue with one task in it, and waits until that one runs. */
  static async begin(server: ServerProcess): Promise<ScriptedQueue> {
    const connection = await NativeConnection.connect({ address: server.address });
    const activities = scripted(() => queue);
    const worker = await Worker.create({ connection, taskQueue: ORCHESTRATOR_QUEUE, workflowBundle, activities });
    const order = { agentId: DEFAULT_AGENT, actor: 'tester' };
    const createdAt = '2026-01-01T00:00:00.000Z';
    const handle = await server.client.workflow.signalWithStart(WORKFLOW.project, {
      ...projectStart({ tenantId: 'default', projectId: 'P-1' }),
      signal: taskDispatchedSignal,
      signalArgs: [{ taskId: 'T-1', priority: 'medium', createdAt, lastAttemptId: null, order }],
    });
    const queue = new ScriptedQueue(connection, worker, handle);
    await until(async () => (await queue.running()).length === 1);
    return queue;
  }

  async running(): Promise<RunningTask[]> {
    return (await this.handle.query(projectQuery)).running;
  }

  async close(): Promise<void> {
    this.worker.shutdown();
    await this.ran;
    await this.connection.close();
  }
}

function scripted(queue: () => ScriptedQueue): ProjectActivities {
  return {
    enqueueTask: () => Promise.resolve(),
    reviveProjects: () => Promise.resolve(0),
    recoverProject: () => Promise.resolve(null),
    startManaged: () => Promise.resolve({ kind: 'started', attemptId: randomUUID() }),
    findSettled: ({ running }) => {
      const { settled } = queue();
      queue().looks += 1;
      return Promise.resolve(running.map(({ attemptId }) => attemptId).filter((id) => settled.includes(id)));
    },
  };
}
