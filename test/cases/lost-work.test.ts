import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import {
  createTask,
  dispatchTask,
  explainTask,
  listTasks,
  showTask,
  waitSettled,
  type Session,
} from '../../client/index';
import { queryAttempts } from '../../client/record';
import { valueOf } from '../../client/outcome';
import { DevServer, until } from '../helpers/dev-server';
import { started } from '../helpers/started';
import { Machine } from '../helpers/machine';
import { markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';

const START = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000001"}'`;
const OTHER = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000002"}'`;
const DONE = `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`;
const FOREVER = 'while :; do sleep 0.05; done';
const GOOD = [START, DONE];

let server: DevServer;
let machine: Machine;
let session: Session;
let worker: ChildProcess;
let serial = 0;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  writeFileSync(machine.home.file('config.json'), JSON.stringify({ limits: { startMs: 2_000 } }));
  session = await machine.session();
  worker = await startWorker();
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

const startWorker = () => machine.startWorker('all', { PERDURE_CODEX_BIN: machine.agent });

async function create(): Promise<string> {
  serial += 1;
  const id = `T-${serial}`;
  valueOf(await createTask(session, { title: 'Go', id, workspace: machine.repository }));
  return id;
}

/** Dispatches a task and waits for what becomes of it. */
async function settle(taskId: string) {
  const { attemptId } = started(valueOf(await dispatchTask(session, { taskId })));
  return waitSettled(session, { taskId, attemptId }, () => undefined);
}

/** Dispatches a task whose agent waits, and gives its attempt when it does. */
async function begin(taskId: string): Promise<{ attemptId: string; workspacePath: string }> {
  const begun = machine.home.file(`begun-${taskId}`);
  machine.writeAgent(START, `pwd > '${begun}.new'; mv '${begun}.new' '${begun}'`, FOREVER);
  const { attemptId } = started(valueOf(await dispatchTask(session, { taskId })));
  await until(() => existsSync(begun));
  return { attemptId, workspacePath: valueOf(await showTask(session, taskId)).workspacePath ?? '' };
}

const attemptsOf = (taskId: string) => queryAttempts(session, taskId);
const needsAttention = async (taskId: string): Promise<boolean> =>
  valueOf(await listTasks(session, { attention: 'failed' })).tasks.some(({ id }) => id === taskId);

describe('a run that ends without an outcome', () => {
  it.each([
    ['says nothing and exits 0', 'provider_exited', ['exit 0']],
    ['begins and exits 0', 'outcome_missing', [START, 'exit 0']],
    ['begins and exits 137', 'outcome_missing', [START, 'exit 137']],
    ['is killed, as by a kernel without memory', 'killed_by_signal', [START, 'kill -KILL $$']],
  ])('because its agent %s fails the task with %s, and is on the list (P87)', async (_what, code, lines) => {
    const taskId = await create();
    machine.writeAgent(...lines);
    expect(await settle(taskId)).toMatchObject({ success: false, code, retryable: true, taskStatus: 'failed' });
    await until(() => needsAttention(taskId));
    machine.writeAgent(...GOOD);
    expect(await settle(taskId)).toMatchObject({ success: true });
  });

  it('while its worker is replaced fails the task when the next one looks (P87)', async () => {
    const taskId = await create();
    const { attemptId } = await begin(taskId);
    await end(worker);
    const [agentProcess] = markedWith(attemptId).filter(({ command }) => command.includes(machine.agent));
    process.kill(agentProcess?.pid ?? 0, 'SIGKILL');
    worker = await startWorker();
    await until(() => needsAttention(taskId));
    expect(await attemptsOf(taskId)).toMatchObject([{ code: 'killed_by_signal', spawns: 1 }]);
    expect(markedWith(attemptId)).toEqual([]);
  });
});

describe('a failed run', () => {
  it.each<[string, string[]]>([
    ['executable_unavailable', []],
    ['spawn_failed', ['#!/nothing/here']],
    ['usage_error', ['exit 2']],
    ['thread_ambiguous', [START, OTHER, DONE]],
    ['start_deadline', [FOREVER]],
  ])('with the code %s holds nothing back: the task can be dispatched at once (P98, P82)', async (code, lines) => {
    const taskId = await create();
    machine.writeAgent(...lines);
    if (code === 'spawn_failed') writeFileSync(machine.agent, `${lines.join()}\n`);
    if (code === 'executable_unavailable') rmSync(machine.agent);
    expect(await settle(taskId)).toMatchObject({ success: false, code, taskStatus: 'failed' });
    machine.writeAgent(...GOOD);
    expect(await settle(taskId)).toMatchObject({ success: true });
    expect(worker.exitCode).toBeNull();
  });

  it('that has a directory for a program is refused and leaves the worker as it was (P82)', async () => {
    const taskId = await create();
    rmSync(machine.agent, { force: true });
    mkdirSync(machine.agent);
    expect(await settle(taskId)).toMatchObject({ code: 'executable_unavailable', taskStatus: 'failed' });
    machine.writeAgent(...GOOD);
    expect(await settle(taskId)).toMatchObject({ success: true });
  });
});

describe('a workspace that goes away', () => {
  it.each([
    [
      'is deleted',
      (path: string) => {
        rmSync(path, { recursive: true });
      },
    ],
    [
      'is renamed',
      (path: string) => {
        renameSync(path, `${path}.elsewhere`);
      },
    ],
  ])('under a run because it %s ends the run, which fails with that cause (P86)', async (_what, take) => {
    const taskId = await create();
    const { attemptId, workspacePath } = await begin(taskId);
    take(workspacePath);
    await until(() => needsAttention(taskId));
    expect(await attemptsOf(taskId)).toMatchObject([{ outcome: 'failed', code: 'workspace_missing' }]);
    expect(markedWith(attemptId)).toEqual([]);
    expect(existsSync(workspacePath)).toBe(false);
    expect(await explainTask(session, taskId)).toMatchObject({
      sentence: expect.stringContaining('workspace_missing'),
    });
  });

  it('before a run refuses it, and nothing is made at its path (P86)', async () => {
    const taskId = await create();
    machine.writeAgent(...GOOD);
    const { workspacePath = '' } = valueOf(await settle(taskId));
    rmSync(workspacePath, { recursive: true });
    expect(await settle(taskId)).toMatchObject({ success: false, code: 'workspace_missing', taskStatus: 'failed' });
    expect(existsSync(workspacePath)).toBe(false);
    expect((await attemptsOf(taskId)).map(({ spawns }) => spawns)).toEqual([1, 0]);
  });
});
