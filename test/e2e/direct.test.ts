import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { killThem, leadersOf, markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';
import { replayAll } from '../helpers/replay';
import { rolloutsIn } from '../helpers/rollouts';
import { SCRIPTED_KEY, ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

let server: DevServer;
let machine: Machine;
let provider: CountedProvider;

beforeAll(async () => {
  server = await DevServer.start();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  machine = await Machine.make(server);
  provider = new CountedProvider(machine.home.path);
});
afterEach(async () => {
  await machine.dispose();
});

const startWorker = (): Promise<ChildProcess> => machine.startWorker('all', { PERDURE_CODEX_BIN: provider.program });
const idOf = (name: string) => `${name}-${machine.home.path.slice(-6)}`;
const env = () => ({ PERDURE_CODEX_BIN: provider.program });

/** Begins `perdure direct run` as a user does. */
const begin = (id: string, ...options: string[]) =>
  machine.begin(
    ['direct', 'run', '--repo', machine.repository, '--mode', 'workspace-write', '--id', id, ...options, 'Say hello.'],
    { env: env() },
  );

/** Waits until the provider of the only attempt runs and a worker follows it. */
async function inMidRun(): Promise<string> {
  const attemptId = await machine.nextRun();
  await until(
    () => provider.living().length > 0 && provider.starts().length > 0 && machine.followerOf(attemptId) !== undefined,
  );
  return attemptId;
}
const show = async (id: string) => (await machine.perdure('direct', 'show', id))['direct'] as Record<string, unknown>;
const receiptsOf = async (id: string) => ((await show(id))['receipt'] as { receiptId: string }).receiptId;

describe('perdure direct', () => {
  it('survives the SIGKILL of its worker with one spawn, the same attempt and the same deadline (DW-6, DW-13, GU-1)', async () => {
    const worker = await startWorker();
    const id = idOf('kill');
    const deadline = new Date(Date.now() + 3_600_000).toISOString();
    const waiting = begin(id, '--deadline', deadline);
    const attemptId = await inMidRun();
    await end(worker);
    await startWorker();
    await until(() => ![undefined, worker.pid].includes(machine.followerOf(attemptId)));
    expect(await show(id)).toMatchObject({
      status: 'running',
      invocationCount: 1,
      deadlineAt: deadline,
      handle: { attemptId },
    });
    provider.release();
    expect(await waiting).toMatchObject({
      status: 0,
      success: true,
      attemptId,
      result: 'finished',
      repositoryPath: realpathSync(machine.repository),
    });
    expect(provider.starts()).toHaveLength(1);
    expect(machine.runs()).toEqual([attemptId]);
    const request = JSON.parse(readFileSync(machine.home.file('runs', attemptId, 'request.json'), 'utf8')) as {
      cwd: string;
    };
    expect(request.cwd).toBe(realpathSync(machine.repository));
    expect(existsSync(machine.home.file('workspaces'))).toBe(false);
    expect(await receiptsOf(id)).toBe(`result:${id}:provider:1`);
    expect(await begin(id, '--deadline', deadline)).toMatchObject({
      status: 0,
      result: 'finished',
    });
    expect(await begin(id)).toMatchObject({ status: 1, code: 'TASK_EXISTS' });
    expect(provider.starts()).toHaveLength(1);
  });

  it('stops with nothing left, also when it is asked again after the end (DT-23, DT-27)', async () => {
    await startWorker();
    const id = idOf('stop');
    const waiting = begin(id);
    const attemptId = await inMidRun();
    expect(await machine.perdure('direct', 'stop', id)).toMatchObject({ success: true, changed: true });
    expect(markedWith(attemptId)).toEqual([]);
    expect(await waiting).toMatchObject({ success: false, code: 'user_stopped' });
    expect(await machine.perdure('direct', 'stop', id)).toMatchObject({ success: true, changed: false });
    expect(await show(id)).toMatchObject({ status: 'stopped', error: null, invocationCount: 1 });
    expect(provider.starts()).toHaveLength(1);
  });

  it('is ended by its runner at the deadline while every worker is away (DT-13, DW-13)', async () => {
    const worker = await startWorker();
    const id = idOf('late');
    const deadline = new Date(Date.now() + 9_000).toISOString();
    await begin(id, '--deadline', deadline, '--no-wait');
    const attemptId = await inMidRun();
    await end(worker);
    await until(() => existsSync(machine.home.file('runs', attemptId, 'exit.json')));
    expect(markedWith(attemptId)).toEqual([]);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(deadline));
    await startWorker();
    const shown = await until(async () => {
      const task = await show(id);
      return task['status'] === 'failed' && task;
    });
    expect(shown).toMatchObject({ code: 'deadline_reached', invocationCount: 1 });
    expect(provider.starts()).toHaveLength(1);
  });

  it('whose runner and provider were killed waits for a person, and can still be stopped (DW-4, DW-16, DT-23)', async () => {
    await startWorker();
    const id = idOf('lost');
    const waiting = begin(id);
    const attemptId = await inMidRun();
    killThem(leadersOf(machine.home.file('runs', attemptId)));
    killThem(markedWith(attemptId));
    expect(await waiting).toMatchObject({
      status: 1,
      code: 'interrupted_owner',
      hint: expect.stringMatching(/direct stop/),
    });
    expect(await show(id)).toMatchObject({ status: 'recovery_required', incidents: [{ code: 'interrupted_owner' }] });
    const { stdout } = await machine.read(['direct', 'show', id]);
    expect(stdout).toContain(`next  perdure direct stop ${id} , or perdure direct decide ${id} accept|abandon`);
    expect(await machine.perdure('direct', 'stop', id)).toMatchObject({ success: true, changed: true });
    expect(await show(id)).toMatchObject({ status: 'stopped' });
    expect(provider.starts()).toHaveLength(1);
  });

  it('lists what runs and what has ended, and shows what the provider printed', async () => {
    await startWorker();
    provider.release();
    const id = idOf('list');
    await begin(id);
    const listed = await until(async () => {
      const { tasks } = (await machine.perdure('direct', 'list', '--status', 'completed')) as unknown as {
        tasks: { id: string }[];
      };
      return tasks.find((task) => task.id === id);
    });
    expect(listed).toMatchObject({ title: 'Say hello.', status: 'completed' });
    const { events } = (await machine.perdure('direct', 'logs', id)) as unknown as { events: { type: string }[] };
    expect(events.at(-1)).toMatchObject({ type: 'turn.completed' });
    expect((await machine.read(['direct', 'show', id])).stdout).toContain('finished');
    for (const command of [['task', 'show'], ['why'], ['dispatch'], ['watch']]) {
      expect(await machine.perdure(...command, id)).toMatchObject({
        ...{ status: 4, code: 'TASK_NOT_FOUND', hint: expect.stringContaining(`perdure direct show ${id}`) as string },
      });
    }
  });

  it('refuses bad input of all kinds, with nothing started (DT-11, DT-13)', async () => {
    const run = (...args: string[]) => machine.begin(['direct', 'run', ...args], { env: env() });
    const good = ['--repo', machine.repository, '--mode', 'read-only'];
    const cases: [string[], object][] = [
      [
        ['--repo', machine.repository, '--mode', 'root', 'x'],
        { status: 2, code: 'USAGE', error: expect.stringContaining('full-access') },
      ],
      [
        ['--repo', machine.repository, '--mode', 'full-access', 'x'],
        { status: 2, code: 'USAGE', error: expect.stringContaining('--full-access') },
      ],
      [[...good, '--operation', 'deploy', 'x'], { status: 2, code: 'USAGE' }],
      [[...good, '--deadline', '2020-01-01T00:00:00Z', 'x'], { status: 1, code: 'deadline_passed' }],
      [[...good, '--deadline', 'soon', 'x'], { status: 2, code: 'USAGE' }],
      [[...good, '--id', '../x', 'x'], { status: 1, code: 'INVALID_ARGUMENT' }],
      [[...good, ' '], { status: 1, code: 'INVALID_ARGUMENT' }],
      [['--repo', machine.home.file('nowhere'), '--mode', 'read-only', 'x'], { status: 1, code: 'workspace_missing' }],
      [['--repo', '/', '--mode', 'read-only', 'x'], { status: 1, code: 'WORKSPACE_NOT_GIT' }],
      [['--mode', 'read-only', 'x'], { status: 2, code: 'USAGE' }],
    ];
    for (const [args, expected] of cases) expect(await run(...args)).toMatchObject({ success: false, ...expected });
    const large = machine.begin(['direct', 'run', ...good, '-'], { stdin: 'x'.repeat(70_000), env: env() });
    expect(await large).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await machine.perdure('direct', 'show', 'D-none')).toMatchObject({ status: 4, code: 'TASK_NOT_FOUND' });
    expect(await machine.perdure('direct', 'stop', 'D-none')).toMatchObject({ status: 4, code: 'TASK_NOT_FOUND' });
    const { tasks } = (await machine.perdure('direct', 'list')) as unknown as { tasks: { id: string }[] };
    expect(tasks.filter(({ id }) => id.startsWith('T-'))).toEqual([]);
    expect(machine.runs()).toEqual([]);
    expect(readdirSync(machine.repository)).toEqual(['.git']);
  });

  it('runs the real Codex in the repository itself, with the preamble before the instruction (DT-3, DT-8, test 10)', async () => {
    const real = await Machine.make(server, SCRIPTED_KEY);
    const codexHome = real.home.file('codex-home');
    const endpoint = await ScriptedEndpoint.start(codexHome);
    try {
      await real.startWorker('all', { CODEX_HOME: codexHome });
      const script = ['the word is quokka', '@shell echo hello > made.txt', '@say all done'].join('\n');
      const args = ['direct', 'run', '--repo', real.repository, '--mode', 'full-access', '--full-access', '-'];
      const answer = await real.begin(args, { stdin: script });
      expect(answer).toMatchObject({ status: 0, success: true, result: 'all done' });
      expect(readFileSync(`${real.repository}/made.txt`, 'utf8')).toBe('hello\n');
      expect(rolloutsIn(codexHome)).toMatchObject([{ threadId: answer.threadId, threadSource: answer.attemptId }]);
      const messages = endpoint.requests.flatMap(({ userMessages }) => userMessages);
      expect(messages.find((message) => message.includes('quokka'))).toMatch(/^You are invoked once[^]*quokka/);
    } finally {
      await real.dispose();
      await endpoint.close();
    }
  });

  it('leaves histories that replay', async () => {
    expect((await replayAll(server.client))['directTask']).toBeGreaterThan(4);
  });
});
