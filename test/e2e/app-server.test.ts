import type { ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DevServer } from '../helpers/dev-server';
import { OpenThread } from '../helpers/app-server';
import { closeCodexMachine, openCodexMachine, runScript } from '../helpers/codex-machine';
import type { Machine } from '../helpers/machine';
import { allProcesses, killThem, leadersOf, markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';
import { replayAll } from '../helpers/replay';
import type { ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

const FULL = ['--sandbox', 'danger-full-access'];

let server: DevServer;
let endpoint: ScriptedEndpoint;
let machine: Machine;
let worker: ChildProcess;
let codexHome: string;
let open: OpenThread | undefined;

beforeAll(async () => {
  ({ server, machine, endpoint, codexHome, worker } = await openCodexMachine());
});
afterEach(async () => {
  await open?.close();
  open = undefined;
});
afterAll(() => closeCodexMachine({ server, machine, endpoint }));

/** A task whose thread somebody has open in an app server. */
async function openThread(id: string, ...options: string[]): Promise<OpenThread> {
  const first = await runScript(machine, id, [['@say begun'], '--no-complete', ...options]);
  expect(first).toMatchObject({ success: true, taskStatus: 'in_progress' });
  open = await OpenThread.open(codexHome, first.threadId ?? '');
  return open;
}

async function dispatch(id: string, script: string[], ...options: string[]) {
  await machine.perdure('task', 'note', id, script.join('\n'));
  return machine.begin(['dispatch', id, '--wait', ...options]);
}

/** A command that says by a file that it runs, leaves a child in a session of its own, and never ends. */
function endless(name: string) {
  const begun = machine.home.file(`${name}.begun`);
  return {
    command: `@shell setsid sleep 4243 & touch ${begun}; sleep 4242`,
    reached: () => until(() => existsSync(begun)),
  };
}
const sleepers = (thread: OpenThread) =>
  allProcesses().filter(({ environment }) => environment.includes(`\0CODEX_THREAD_ID=${thread.threadId}\0`));
const lastAttempt = async (id: string) => (await machine.attempts(id)).at(-1);

describe('a thread that is open in an app server (CX-26)', () => {
  it('goes on there, in its worktree and sandbox, and stays open', async () => {
    const thread = await openThread('A-1', '--sandbox', 'read-only');
    const tried = await dispatch('A-1', ['@shell pwd', '@shell touch made.txt', '@usage 300 7', '@say went on']);
    expect(tried).toMatchObject({ success: true, threadId: thread.threadId, observation: 'went on' });
    const attempt = await lastAttempt('A-1');
    expect(attempt).toMatchObject({ mode: 'retry', spawns: 1, exit: { code: 0 }, outcome: 'completed' });
    expect(attempt?.usage).toMatchObject({ inputTokens: 500, outputTokens: 27 });
    expect(existsSync(join(attempt?.workspacePath ?? '', 'made.txt'))).toBe(false);
    const logs = await machine.begin(['logs', 'A-1']);
    expect(JSON.stringify(logs)).toContain(`"command":"/bin/bash -c pwd","cwd":"${String(attempt?.workspacePath)}"`);
    expect(await thread.isLoaded()).toBe(true);
    expect((await thread.turns()).map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('is stopped there, with all that its commands began, and the server goes on (US-4, CX-29)', async () => {
    const thread = await openThread('A-2', ...FULL);
    const held = endless('stopped');
    const run = dispatch('A-2', [held.command, '@say never']);
    await held.reached();
    expect(sleepers(thread).length).toBeGreaterThan(1);
    expect(await machine.perdure('stop', 'A-2')).toMatchObject({ stopped: true, taskStatus: 'interrupted' });
    expect(sleepers(thread)).toEqual([]);
    expect(await run).toMatchObject({ code: 'user_stopped', taskStatus: 'interrupted' });
    expect((await thread.turns())[0]).toMatchObject({ status: 'interrupted' });
    expect(await dispatch('A-2', ['@say went on'])).toMatchObject({ success: true, threadId: thread.threadId });
  });

  it('is stopped by whoever interrupts its turn there (US-13)', async () => {
    const thread = await openThread('A-3', ...FULL);
    const held = endless('interrupted');
    const run = dispatch('A-3', [held.command, '@say never']);
    await held.reached();
    await thread.interrupt();
    expect(await run).toMatchObject({ code: 'user_stopped', taskStatus: 'interrupted' });
    expect(sleepers(thread)).toEqual([]);
    expect(await lastAttempt('A-3')).toMatchObject({ error: 'the user interrupted the provider' });
  });

  it('is left to a turn that somebody else has begun in it (P32)', async () => {
    const thread = await openThread('A-4', ...FULL);
    const held = endless('theirs');
    await thread.ask(held.command);
    await held.reached();
    expect(await dispatch('A-4', ['@say mine'])).toMatchObject({ code: 'THREAD_BUSY', retryable: true });
    expect((await thread.turns())[0]).toMatchObject({ status: 'inProgress' });
    expect(sleepers(thread).length).toBeGreaterThan(1);
    await thread.interrupt();
    killThem(sleepers(thread));
    expect(await dispatch('A-4', ['@say mine'])).toMatchObject({ success: true, threadId: thread.threadId });
  });

  it('leaves a command alone that its person runs there meanwhile, and none of its own', async () => {
    const thread = await openThread('A-10', ...FULL);
    const [begun, go] = [machine.home.file('beside.begun'), machine.home.file('beside.go')];
    const held = `setsid sleep 4243 & touch ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done`;
    const run = dispatch('A-10', [`@shell ${held}`, '@say done']);
    await until(() => existsSync(begun));
    await thread.shell('sleep 4244');
    // Its login shell, or what that has become.
    const theirs = await until(() => sleepers(thread).find(({ command }) => command.endsWith('sleep 4244')));
    writeFileSync(go, '');
    expect(await run).toMatchObject({ success: true, observation: 'done' });
    const left = sleepers(thread);
    expect(left.map(({ pid }) => pid)).toContain(theirs.pid);
    expect(left.filter(({ environment }) => environment.includes('\0CODEX_TOOL_CALL_ID='))).toEqual([]);
    killThem(left);
  });

  it('is followed on by another worker, and the turn is the only one (GU-1)', async () => {
    const thread = await openThread('A-5', ...FULL);
    const [begun, go] = [machine.home.file('adopted.begun'), machine.home.file('adopted.go')];
    const wait = `@shell touch ${begun}; while [ ! -e ${go} ]; do sleep 0.1; done`;
    const run = dispatch('A-5', [wait, '@say once']);
    await until(() => existsSync(begun));
    await end(worker, 'SIGKILL');
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
    writeFileSync(go, '');
    expect(await run).toMatchObject({ success: true, observation: 'once' });
    expect(await lastAttempt('A-5')).toMatchObject({ spawns: 1, outcome: 'completed' });
    expect(await thread.turns()).toHaveLength(2);
  });

  it('does not go on for an attempt whose executor died: its turn is ended before that is said (RC-4)', async () => {
    const thread = await openThread('A-6', ...FULL);
    const held = endless('lost');
    const known = machine.runs();
    const run = dispatch('A-6', [held.command, '@say never']);
    await held.reached();
    const attemptId = await machine.nextRun(known);
    killThem([...leadersOf(attemptId), ...markedWith(attemptId)]);
    expect(await run).toMatchObject({ success: false, code: 'interrupted_owner', taskStatus: 'in_progress' });
    expect((await thread.turns())[0]).toMatchObject({ status: 'interrupted' });
    expect(sleepers(thread)).toEqual([]);
    // The server has the thread open still, and runs no turn in it: that is no sign of life of the attempt.
    expect(await dispatch('A-6', ['@say went on'])).toMatchObject({ success: true, threadId: thread.threadId });
    expect((await machine.attempts('A-6')).map(({ spawns }) => spawns)).toEqual([1, 1, 1]);
  });

  it('fails with the server that it was taken in, and leaves nothing behind', async () => {
    const thread = await openThread('A-9', ...FULL);
    const held = endless('crashed');
    const run = dispatch('A-9', [held.command, '@say never']);
    await held.reached();
    await end(thread.server);
    const answer = await run;
    expect(answer).toMatchObject({ code: 'RUN_FAILED', taskStatus: 'failed' });
    expect(answer.error).toContain('the app server went away');
    expect(sleepers(thread)).toEqual([]);
    expect(await dispatch('A-9', ['@say went on'])).toMatchObject({ success: true, threadId: thread.threadId });
  });

  it('is busy for a supervised attempt, whose agent must carry the mark of its run', async () => {
    const thread = await openThread('A-7', ...FULL);
    await dispatch('A-7', ['@say {}'], '--supervise', '--verify', '--attempts', '1');
    expect(await lastAttempt('A-7')).toMatchObject({ code: 'THREAD_BUSY' });
    expect(await thread.turns()).toHaveLength(1);
  });

  it('goes on by the command line once the server has ended', async () => {
    const thread = await openThread('A-8', ...FULL);
    await thread.close();
    expect(await dispatch('A-8', ['@say alone'])).toMatchObject({ success: true, threadId: thread.threadId });
  });
});

describe('the histories of all this', () => {
  it('replay', async () => {
    expect(Object.keys(await replayAll(server.client))).toEqual(
      expect.arrayContaining(['dispatchTask', 'resumeCodex']),
    );
  });
});
