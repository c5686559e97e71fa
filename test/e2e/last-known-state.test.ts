import type { ChildProcess } from 'node:child_process';
import { openSession, showTask, type Session } from '../../client/index';
import { taskWorkflowId } from '../../contract/names';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer } from '../helpers/dev-server';
import { Machine, type Answer } from '../helpers/machine';
import { end } from '../helpers/process';

const LIMIT_MS = 10_000;
/** A task in every state that matters here, and the status that it was last known to have. */
const TASKS = [
  ['pending', 'L-pending', 'pending'],
  ['running', 'L-running', 'in_progress'],
  ['running since it was created', 'L-run', 'in_progress'],
  ['terminated', 'L-closed', 'pending'],
] as const;

let server: DevServer;
let machine: Machine;
let provider: CountedProvider;
let worker: ChildProcess;
let session: Session;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server);
  provider = new CountedProvider(machine.home.path);
  const env = { PERDURE_CODEX_BIN: provider.program };
  worker = await machine.startWorker('all', env);
  const opened = await openSession({ PERDURE_HOME: machine.home.path, TEMPORAL_ADDRESS: server.address });
  if (!opened.success) throw new Error(opened.error);
  session = opened.session;
  for (const id of ['L-pending', 'L-running', 'L-closed']) {
    await machine.perdure('task', 'create', '--id', id, '--title', 'Go');
  }
  await machine.begin(['dispatch', 'L-running'], { env });
  const first = await machine.nextRun();
  void machine.begin(['run', '--id', 'L-run', '--title', 'Go'], { env });
  await machine.nextRun([first]);
  await server.client.workflow
    .getHandle(taskWorkflowId({ tenantId: 'default', taskId: 'L-closed' }))
    .terminate('by mistake');
});
afterAll(async () => {
  provider.release();
  await session.close();
  await machine.dispose();
  await server.stop();
});

/** Asks the command line and asserts that it answers soon enough. */
async function ask(...args: string[]): Promise<Answer> {
  const began = performance.now();
  const answer = await machine.perdure(...args);
  expect(performance.now() - began).toBeLessThan(LIMIT_MS);
  return answer;
}

const attemptOf = ({ executor }: Answer) => (executor as { attemptId: string } | null)?.attemptId;
const listed = ['L-pending', 'L-run', 'L-running'];
const idsOf = ({ tasks }: Answer) => (tasks as { id: string }[]).map(({ id }) => id).sort();

describe('with a worker', () => {
  it.each(TASKS)('shows a task that is %s as it is (P81)', async (_state, id, status) => {
    const shown = await ask('task', 'show', id);
    expect(shown).toMatchObject({ status: 0, task: { id, status } });
    expect(shown).not.toHaveProperty('stale');
    expect(await ask('why', id)).not.toHaveProperty('stale');
  });

  it('lists what is open, unmarked (P81)', async () => {
    const list = await ask('task', 'list');
    expect(list.status).toBe(0);
    expect(list).not.toHaveProperty('stale');
    expect(idsOf(list)).toEqual(listed);
  });

  it.each(TASKS)('answers 50 at once for a task that is %s (P81)', async (_state, id, status) => {
    const began = performance.now();
    const shown = await Promise.all(Array.from({ length: 50 }, () => showTask(session, id)));
    expect(performance.now() - began).toBeLessThan(LIMIT_MS);
    for (const each of shown) expect(each).toMatchObject({ success: true, task: { id, status } });
  });
});

describe('without a worker', () => {
  beforeAll(() => end(worker, 'SIGTERM'));

  it.each(TASKS)('shows a task that is %s as it was last known, marked (P81)', async (_state, id, status) => {
    const [shown, why] = await Promise.all([ask('task', 'show', id), ask('why', id)]);
    expect(shown).toMatchObject({ status: 1, success: true, stale: true, task: { id, status } });
    expect(why).toMatchObject({ status: 1, success: true, stale: true, taskId: id });
    expect(machine.runs().includes(attemptOf(why) ?? '')).toBe(status === 'in_progress');
  });

  it('lists what was open, marked (P81)', async () => {
    const list = await ask('task', 'list');
    expect(list).toMatchObject({ status: 1, success: true, stale: true });
    expect(idsOf(list)).toEqual(listed);
  });

  it('answers 50 at once (P81)', async () => {
    const began = performance.now();
    const shown = await Promise.all(Array.from({ length: 50 }, () => showTask(session, 'L-running')));
    expect(performance.now() - began).toBeLessThan(LIMIT_MS);
    for (const each of shown)
      expect(each).toMatchObject({ success: true, stale: true, task: { status: 'in_progress' } });
  });
});
