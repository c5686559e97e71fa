import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import Database from 'libsql';
import { createReceiptActivities } from '../../activities/receipts/activities';
import { openStore } from '../../activities/receipts/store';
import { DEFAULT_AGENT } from '../../contract/agent';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { attemptsQuery, dispatchUpdate, RULES, type Attempt } from '../../contract/run';
import { DevServer, until } from '../helpers/dev-server';
import { end, startNode } from '../helpers/process';
import { compiledFixture } from '../helpers/root';
import { HOST, newTask } from '../helpers/stage';

describe('an orchestrator that is killed between the result and its receipt', () => {
  const home = mkdtempSync(join(tmpdir(), 'perdure-receipt-crash-'));
  const file = join(home, 'receipts.db');
  let server: DevServer;
  let worker: ChildProcess;

  const startWorker = async () => {
    const env = { ...process.env, TEMPORAL_ADDRESS: server.address, PERDURE_HOME: home };
    [worker] = await startNode(compiledFixture('fake-worker'), [HOST], { env });
  };
  beforeAll(async () => {
    server = await DevServer.start();
  });
  beforeEach(startWorker);
  afterEach(() => end(worker));
  afterAll(async () => {
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  });

  /** Runs a task until its result is in history and its receipt is being queued in a store that lets nobody write. */
  async function killedWhileQueuing(): Promise<{ task: WorkflowHandle; attemptId: string }> {
    const create = newTask();
    const task = await server.client.workflow.start(WORKFLOW.task, {
      workflowId: taskWorkflowId({ tenantId: create.tenantId, taskId: create.id }),
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ create, version: RULES }],
    });
    const lock = new Database(file);
    lock.exec('begin immediate');
    try {
      const answer = await task.executeUpdate(dispatchUpdate, { args: [{ agentId: DEFAULT_AGENT }] });
      await until(async () => {
        const { raw } = await task.describe();
        return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'queueReceipt') === true;
      });
      await end(worker);
      if (!('attemptId' in answer)) throw new Error('no run began');
      return { task, attemptId: answer.attemptId };
    } finally {
      lock.exec('rollback');
      lock.close();
    }
  }

  async function settled(task: WorkflowHandle): Promise<Attempt | undefined> {
    await until(async () => (await task.describe()).type === 'task');
    return (await task.query(attemptsQuery)).at(-1);
  }

  const ofAttempt = async (attemptId: string) => {
    const store = await openStore(file);
    const rows = await store.selectFrom('receipts').selectAll().where('attempt_id', '=', attemptId).execute();
    await store.destroy();
    return rows;
  };

  /** How often each activity was scheduled in the phase that ran the attempt. */
  async function scheduled(task: WorkflowHandle): Promise<string[]> {
    for await (const { workflowId, runId, type } of server.client.workflow.list()) {
      if (workflowId !== task.workflowId || type !== WORKFLOW.dispatchTask) continue;
      const { events } = await server.client.workflow.getHandle(workflowId, runId).fetchHistory();
      return (events ?? []).flatMap(
        ({ activityTaskScheduledEventAttributes: given }) => given?.activityType?.name ?? [],
      );
    }
    return [];
  }

  it('queues it again under the same id and runs nothing twice (RQ-1, crash rows 7 and 11)', async () => {
    const { task, attemptId } = await killedWhileQueuing();
    expect(await ofAttempt(attemptId)).toEqual([]);
    await startWorker();
    const attempt = await settled(task);
    expect(attempt).toMatchObject({
      attemptId,
      outcome: 'completed',
      receipts: [{ receiptId: `result:${attemptId}` }],
    });
    expect(await ofAttempt(attemptId)).toHaveLength(1);
    await until(async () => (await scheduled(task)).length > 0);
    expect(await scheduled(task)).toEqual(['runProvider', 'queueReceipt']);
  });

  it('knows the receipt that the killed one had stored, marks the attempt and lets the task rest (RQ-4, crash rows 8 and 9)', async () => {
    const { task, attemptId } = await killedWhileQueuing();
    const store = await openStore(file);
    const order = {
      receiptId: `result:${attemptId}`,
      attemptId,
      resultRef: `temporal:${task.workflowId}:${attemptId}`,
    };
    const stored = await createReceiptActivities({ store, now: () => '2026-01-01T00:00:00.000Z' }).queueReceipt(order);
    await store.destroy();
    await startWorker();
    expect((await settled(task))?.receipts).toEqual([stored]);
    expect(await ofAttempt(attemptId)).toHaveLength(1);
    await until(async () => (await scheduled(task)).length > 0);
    expect(await scheduled(task)).toEqual(['runProvider', 'queueReceipt']);
  });
});
