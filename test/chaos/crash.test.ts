import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer, until } from '../helpers/dev-server';
import { Machine, type Answer } from '../helpers/machine';
import { killThem, leadersOf } from '../helpers/outside-view';
import { end } from '../helpers/process';
import { replayAll } from '../helpers/replay';

const COMPLETED = { status: 0, success: true, taskStatus: 'completed', observation: 'finished' };

let directory: string;
let server: DevServer;
let machine: Machine;
let provider: CountedProvider;
const recoveries: string[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-crash-'));
  server = await DevServer.start(join(directory, 'temporal.db'));
});
afterAll(async () => {
  // Measured, not asserted.
  process.stderr.write(`${recoveries.join('\n')}\n`);
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  machine = await Machine.make(server);
  provider = new CountedProvider(machine.home.path);
});
afterEach(async () => {
  await machine.dispose();
});

const withProvider = () => ({ PERDURE_CODEX_BIN: provider.program });
const startHost = () => machine.startWorker('host', withProvider());
const startOrchestrator = () => machine.startWorker('orchestrator');

/** Begins `perdure run` as a user that waits. */
function beginRun(): Promise<Answer> {
  const args = ['run', '--title', 'Survive', '--id', taskId(), '--accept', 'true'];
  return machine.begin(args, { env: withProvider() });
}
const taskId = () => machine.home.path.slice(-6);

/** Waits until the provider runs and a worker follows it. */
async function inMidRun(): Promise<string> {
  const attemptId = await machine.nextRun();
  await until(() => provider.living().length > 0 && machine.followerOf(attemptId) !== undefined);
  return attemptId;
}

/** Waits until another process than `before` follows the attempt, and notes how long that took since `since`. */
async function followedAgain(
  attemptId: string,
  { before, since, what }: { before: number | undefined; since: number; what: string },
) {
  await until(() => ![undefined, before].includes(machine.followerOf(attemptId)));
  recoveries.push(`followed again ${((performance.now() - since) / 1_000).toFixed(2)} s after: ${what}`);
}

/** Lets the provider end, and asserts that there was one of it in all, whoever counts. */
async function expectOneRun(waiting: Promise<Answer>): Promise<void> {
  expect(provider.living().length).toBeLessThanOrEqual(1);
  provider.release();
  const answer = await waiting;
  expect(provider.starts()).toHaveLength(1);
  expect(answer).toMatchObject({ ...COMPLETED, threadId: provider.starts()[0] });
  expect(provider.living()).toEqual([]);
  expect(await machine.attempts(taskId())).toMatchObject([
    { mode: 'start', spawns: 1, threadId: answer.threadId, outcome: 'completed' },
  ]);
  expect(await machine.status(taskId())).toBe('completed');
}

describe('SIGKILL of the worker', () => {
  it('in mid-run is taken over by another worker of the same host (GU-1)', async () => {
    await startOrchestrator();
    const workers = await Promise.all([startHost(), startHost()]);
    const waiting = beginRun();
    const attemptId = await inMidRun();
    const before = machine.followerOf(attemptId);
    const since = performance.now();
    await end(workerWith(workers, before));
    await followedAgain(attemptId, { before, since, what: 'kill of one of two workers' });
    await expectOneRun(waiting);
  });
});

function workerWith(workers: ChildProcess[], pid: number | undefined): ChildProcess {
  const found = workers.find((worker) => worker.pid === pid);
  if (found === undefined) throw new Error(`no worker has pid ${String(pid)}`);
  return found;
}

describe('a worker that ends or stalls', () => {
  it('is not needed for a stop to be accepted: the next one carries it out (US-6)', async () => {
    await startOrchestrator();
    const worker = await startHost();
    const waiting = beginRun();
    await inMidRun();
    await end(worker);
    const stopping = machine.perdure('stop', taskId());
    await until(async () => (await machine.perdure('why', taskId()))['attention'] === 'stopping');
    await startHost();
    expect(await stopping).toMatchObject({ status: 0, stopped: true, taskStatus: 'interrupted' });
    expect(provider.living()).toEqual([]);
    expect(await waiting).toMatchObject({ status: 1, code: 'user_stopped', taskStatus: 'interrupted' });
    expect(provider.starts()).toHaveLength(1);
  });

  it('hands its run over when it is told to end (GU-1)', async () => {
    await startOrchestrator();
    const worker = await startHost();
    const waiting = beginRun();
    const attemptId = await inMidRun();
    const since = performance.now();
    await end(worker, 'SIGTERM');
    expect(worker.exitCode).toBe(0);
    expect(provider.living()).toHaveLength(1);
    await startHost();
    await followedAgain(attemptId, { before: worker.pid, since, what: 'SIGTERM, restart included' });
    await expectOneRun(waiting);
  });

  it('is replaced when it is frozen past its heartbeat, and does no harm when it thaws (GU-1)', async () => {
    await startOrchestrator();
    const workers = await Promise.all([startHost(), startHost()]);
    const waiting = beginRun();
    const attemptId = await inMidRun();
    const before = machine.followerOf(attemptId);
    const frozen = workerWith(workers, before);
    const since = performance.now();
    frozen.kill('SIGSTOP');
    await followedAgain(attemptId, { before, since, what: 'freeze of one of two workers' });
    frozen.kill('SIGCONT');
    await expectOneRun(waiting);
    expect(frozen.exitCode).toBeNull();
  });
});

describe('SIGKILL of runner and provider', () => {
  it('is an interrupted owner: nothing starts again until someone asks for it (RC-4, DS4)', async () => {
    await startOrchestrator();
    const worker = await startHost();
    const waiting = beginRun();
    const attemptId = await inMidRun();
    killThem([...leadersOf(machine.home.file('runs', attemptId)), ...provider.living()]);
    const [thread] = provider.starts();
    expect(await waiting).toMatchObject({
      status: 1,
      success: false,
      code: 'interrupted_owner',
      threadId: thread,
      taskStatus: 'in_progress',
    });
    expect(await machine.perdure('why', taskId())).toMatchObject({ attention: 'recovery', phase: 'task' });
    await end(worker);
    await startHost();
    expect(provider.starts()).toEqual([thread]);

    provider.release();
    const dispatched = await machine.begin(['dispatch', taskId(), '--wait'], { env: withProvider() });
    expect(dispatched).toMatchObject({ status: 0, success: true, threadId: thread, observation: 'finished' });
    expect(provider.starts()).toEqual([thread, thread]);
    expect(await machine.attempts(taskId())).toMatchObject([
      { mode: 'start', spawns: 1, outcome: 'interrupted_owner', threadId: thread },
      { mode: 'retry', spawns: 1, outcome: 'completed', threadId: thread },
    ]);
    const { task } = await machine.perdure('task', 'show', taskId());
    expect(JSON.stringify(task?.['activities'])).toContain('"code":"no_executor"');
  });
});

describe('the histories of all this', () => {
  it('replay', async () => {
    const types = Object.keys(await replayAll(server.client));
    expect(types).toEqual(expect.arrayContaining(['dispatchTask', 'failOrphan', 'resumeCodex', 'task']));
  });
});
