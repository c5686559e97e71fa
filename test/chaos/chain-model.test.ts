import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openStore } from '../../activities/receipts/store';
import type { RunOrder } from '../../contract/activities';
import { hostQueue, ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { attemptsQuery, type Attempt } from '../../contract/run';
import { taskQuery, whyQuery, type ActivityEntry } from '../../contract/task';
import { DevServer, until } from '../helpers/dev-server';
import { end, startNode } from '../helpers/process';
import { Random } from '../helpers/random';
import { replayAll } from '../helpers/replay';
import { compiledFixture } from '../helpers/root';
import { HOST, newTask } from '../helpers/stage';
import { repeat, rollOver, shoot } from './clients';
import { erraticHost } from './erratic-host';
import { brokenAttempts, brokenNumbers, brokenOrders, brokenPath, brokenRequests, type Ledger } from './ledger';
import type { Shot } from './shot';

/** Seconds of fire on each seed; CI takes the short form, `PERDURE_FIRE=300` is the long one. */
const SECONDS = Number(process.env.PERDURE_FIRE ?? 25);
const SEEDS = (process.env.PERDURE_SEED ?? '1').split(',').map(Number);
const TASKS = 2;
const CLIENTS = 3;
/** Orders that a fire comes to at least, however slow the machine is. */
const ORDERS = 20;
const KILL_EVERY_MS = 6_000;
/** Accepted requests of each task that are sent once more when all is quiet; a record remembers a thousand. */
const REPEATED = 100;
const AT_ONCE = 9;

describe('the chain of phases under any fire', () => {
  let directory: string;
  let server: DevServer;
  let connection: NativeConnection;
  let host: Worker;
  let running: Promise<void>;
  const orders: RunOrder[] = [];
  const workers: ChildProcess[] = [];

  const startWorker = async () => {
    // Its own host has no task here: the one of this process sees every order, whatever dies.
    const env = { ...process.env, PERDURE_HOME: directory, TEMPORAL_ADDRESS: server.address };
    const [worker] = await startNode(compiledFixture('fake-worker'), ['another-host'], { env });
    workers.push(worker);
  };

  beforeAll(async () => {
    if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
    directory = await mkdtemp(join(tmpdir(), 'perdure-fire-'));
    server = await DevServer.start();
    connection = await NativeConnection.connect({ address: server.address });
    const activities = erraticHost(orders).activities();
    host = await Worker.create({ connection, taskQueue: hostQueue(HOST), activities });
    running = host.run();
    await startWorker();
    await startWorker();
  });
  afterAll(async () => {
    for (const worker of workers) await end(worker);
    host.shutdown();
    await running;
    await connection.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const createTask = (): Promise<WorkflowHandle> => {
    const create = newTask({ acceptance: ['true'] });
    const workflowId = taskWorkflowId({ tenantId: create.tenantId, taskId: create.id });
    return server.client.workflow.start(WORKFLOW.task, {
      workflowId,
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ create }],
      memo: { title: create.title },
    });
  };

  /** Whether a second attempt of a task has been ordered. */
  const wentOn = ({ workflowId }: WorkflowHandle): boolean =>
    new Set(orders.filter(({ task }) => taskWorkflowId(task) === workflowId).map(({ attemptId }) => attemptId)).size >
    1;

  /** Kills the older worker and starts another one; between two kills both live. */
  const killWorkers = async (isOver: () => boolean) => {
    for (let waited = 0; !isOver(); waited += 100) {
      await sleep(100);
      if (waited === 0 || waited % KILL_EVERY_MS > 0) continue;
      const oldest = workers.shift();
      if (oldest !== undefined) await end(oldest);
      await startWorker();
    }
  };

  /** The whole of a task once it rests. */
  const ledgerOf = async (task: WorkflowHandle, shots: Shot[]): Promise<Ledger> => {
    await until(async () => {
      const { attention } = await task.query(whyQuery);
      const isBusy = attention === 'running' || attention === 'stopping';
      return !isBusy && (await task.describe()).type === 'task';
    });
    const { activities, status, id } = await task.query(taskQuery);
    const store = await openStore(join(directory, 'receipts.db'));
    const rows = await store.selectFrom('archive').selectAll().where('task', '=', task.workflowId).execute();
    await store.destroy();
    const moved = <T>(kind: string) => rows.filter((row) => row.kind === kind).map(({ body }) => JSON.parse(body) as T);
    const number = (entry: ActivityEntry) => Number(entry.id.slice(2));
    return {
      status,
      entries: [...moved<ActivityEntry>('activity').sort((a, b) => number(a) - number(b)), ...activities],
      attempts: [
        ...moved<Attempt>('attempt').sort((a, b) => a.number - b.number),
        ...(await task.query(attemptsQuery)),
      ],
      orders: orders.filter((order) => order.task.taskId === id),
      shots,
    };
  };

  const broken = (ledger: Ledger) =>
    [brokenRequests, brokenNumbers, brokenPath, brokenAttempts, brokenOrders].flatMap((rule) => rule(ledger));

  it.each(SEEDS)(
    'keeps every rule whatever the order of requests, kills and new runs, and replays; seed %i (GN10, TR9, TS7 to TS9, TS13, TS14, RO9, DS10, DS12, SR1)',
    async (seed) => {
      const over = Date.now() + SECONDS * 1_000;
      const began = orders.length;
      // A busy machine gets the time that it needs for something to happen.
      const isOver = () => Date.now() > over && orders.length >= began + ORDERS && tasks.every(wentOn);
      const complaints: string[] = [];
      const complain = (text: string) => void complaints.push(text);
      const tasks = await Promise.all(Array.from({ length: TASKS }, createTask));
      const fires = tasks.map((task) => ({ task, shots: [] as Shot[], complain, isOver }));
      const random = (index: number) => new Random(seed * 1_000 + index);
      await Promise.all([
        killWorkers(isOver),
        ...fires.flatMap((fire, task) => [
          rollOver(fire, random(task)),
          ...Array.from({ length: CLIENTS }, (_, client) => shoot(fire, random(100 + task * CLIENTS + client))),
        ]),
      ]);
      for (const { task, shots } of fires) {
        const before = await ledgerOf(task, shots);
        const accepted = shots.filter((shot) => shot.isAccepted).slice(-REPEATED);
        // A server takes ten updates of one workflow at once, and hardly gets on under more.
        for (let first = 0; first < accepted.length; first += AT_ONCE) {
          await Promise.all(accepted.slice(first, first + AT_ONCE).map((shot) => repeat(shot, complain)));
        }
        const after = await ledgerOf(task, shots);
        console.info(summary(seed, after));
        expect({ seed, complaints, broken: broken(after) }).toEqual({ seed, complaints: [], broken: [] });
        expect([after.entries, after.attempts]).toEqual([before.entries, before.attempts]);
        expect(after.attempts.length).toBeGreaterThan(1);
      }
      console.info(JSON.stringify(await replayAll(server.client)));
    },
    (SECONDS + 600) * 1_000,
  );
});

/** What a fire came to, in one line. */
function summary(seed: number, { shots, entries, attempts, orders }: Ledger): string {
  const accepted = shots.filter((shot) => shot.isAccepted).length;
  const sendings = shots.reduce((sum, { replies }) => sum + replies.length, 0);
  const reopenings = entries.filter(({ detail }) => detail.type === 'reopen').length;
  const counts = { seed, requests: shots.length, sendings, accepted, entries: entries.length, reopenings };
  return JSON.stringify({ ...counts, attempts: attempts.length, orders: orders.length });
}
