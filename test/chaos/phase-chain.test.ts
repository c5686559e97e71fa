import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { openStore } from '../../activities/receipts/store';
import { DEFAULT_AGENT } from '../../contract/agent';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { dispatchUpdate } from '../../contract/run';
import { addActivityUpdate, setStatusUpdate, taskQuery, type ActivityEntry } from '../../contract/task';
import { DevServer, until } from '../helpers/dev-server';
import { end, startNode } from '../helpers/process';
import { compiledFixture } from '../helpers/root';
import { newTask } from '../helpers/stage';

const PHASE_CHANGES = 200;
const KILLS = 10;
const CLIENTS = 6;

/** Sends a request with its id until it is answered, as a client does that lost an answer; refusals are answers. */
async function insist<T>(send: () => Promise<T>): Promise<T | 'refused'> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError) return 'refused';
    }
  }
}

describe('the chain of phases under fire', () => {
  let directory: string;
  let server: DevServer;
  let worker: ChildProcess | undefined;
  const startWorker = async () => {
    [worker] = await startNode(compiledFixture('fake-worker'), ['test-host'], {
      env: { ...process.env, PERDURE_HOME: directory, TEMPORAL_ADDRESS: server.address },
    });
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'perdure-chain-'));
    server = await DevServer.start();
    await startWorker();
  });
  afterAll(async () => {
    if (worker !== undefined) await end(worker);
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('stores each acknowledged update exactly once through 200 phase changes and ten worker kills (GN10 (P), TR9)', async () => {
    const create = newTask();
    const workflowId = taskWorkflowId({ tenantId: create.tenantId, taskId: create.id });
    const options = { workflowId, taskQueue: ORCHESTRATOR_QUEUE, args: [{ create }] };
    const task: WorkflowHandle = await server.client.workflow.start(WORKFLOW.task, options);
    const acknowledged: string[] = [];
    const phases = new Set<string>();
    const isDone = () => phases.size > PHASE_CHANGES;

    const note = async (client: number) => {
      for (let serial = 0; !isDone(); serial += 1) {
        const summary = `note ${String(client)}/${String(serial)}`;
        const requestId = randomUUID();
        const send = () =>
          task.executeUpdate(addActivityUpdate, { updateId: requestId, args: [{ requestId, summary }] });
        if ((await insist(send)) !== 'refused') acknowledged.push(summary);
        // The same request once more, as after a lost answer.
        if (serial % 5 === 0)
          await insist(() => task.executeUpdate(addActivityUpdate, { args: [{ requestId, summary }] }));
      }
    };
    const drive = async () => {
      while (!isDone()) {
        const requestId = randomUUID();
        await insist(() =>
          task.executeUpdate(dispatchUpdate, { updateId: requestId, args: [{ requestId, agentId: DEFAULT_AGENT }] }),
        );
        await insist(() => task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'done' }] }));
      }
    };
    const watch = async () => {
      while (!isDone()) {
        phases.add((await task.describe()).runId);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const kill = async () => {
      for (let kills = 1; kills <= KILLS; kills += 1) {
        await until(() => phases.size > (kills * PHASE_CHANGES) / (KILLS + 1));
        if (worker !== undefined) await end(worker);
        await startWorker();
      }
    };
    await Promise.all([drive(), watch(), kill(), ...Array.from({ length: CLIENTS }, (_, client) => note(client))]);

    const record = await task.query(taskQuery);
    const store = await openStore(join(directory, 'receipts.db'));
    const moved = await store.selectFrom('archive').selectAll().where('kind', '=', 'activity').execute();
    await store.destroy();
    const entries = [...moved.map(({ body }) => JSON.parse(body) as ActivityEntry), ...record.activities];
    const notes = entries.filter(({ detail }) => detail.type === 'note').map(({ summary }) => summary);
    expect(new Set(notes).size).toBe(notes.length);
    expect(acknowledged.filter((summary) => !notes.includes(summary))).toEqual([]);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
    expect(acknowledged.length).toBeGreaterThan(CLIENTS * 10);
  }, 300_000);
});
