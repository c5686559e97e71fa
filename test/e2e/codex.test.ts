import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DevServer } from '../helpers/dev-server';
import { closeCodexMachine, openCodexMachine, runScript } from '../helpers/codex-machine';
import type { Machine } from '../helpers/machine';
import { allProcesses, killThem, leadersOf, markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';
import { replayAll } from '../helpers/replay';
import { rolloutsIn } from '../helpers/rollouts';
import type { ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

let server: DevServer;
let endpoint: ScriptedEndpoint;
let machine: Machine;
let worker: ChildProcess;
let codexHome: string;

beforeAll(async () => {
  ({ server, machine, endpoint, codexHome, worker } = await openCodexMachine());
});
afterAll(() => closeCodexMachine({ server, machine, endpoint }));

const run = (id: string, script: string[], ...options: string[]) => runScript(machine, id, [script, ...options]);

/** Gives a task the script of its next run, as new input, and waits for that run. */
async function runAgain(id: string, ...script: string[]) {
  await machine.perdure('task', 'note', id, script.join('\n'));
  return machine.perdure('dispatch', id, '--wait');
}

/** A command that says by one file that it runs, and waits for another one. */
function gate(name: string) {
  const [begun, open] = [machine.home.file(`${name}.begun`), machine.home.file(`${name}.open`)];
  return {
    command: `touch ${begun}; while [ ! -e ${open} ]; do sleep 0.1; done`,
    reached: () => until(() => existsSync(begun)),
    open: () => {
      writeFileSync(open, '');
    },
  };
}

describe('a run of the real Codex', () => {
  it('does the work in the worktree, once, in a thread marked with the attempt, its prompt in no argument (DF-6)', async () => {
    const held = gate('first');
    const secret = 'the word is quokka-4711';
    const script = [secret, '@shell echo hello > made.txt', `@shell ${held.command}`, '@say all done'];
    const done = run('C-1', script, '--sandbox', 'danger-full-access', '--accept', 'grep -q hello made.txt');
    await held.reached();
    const attemptId = await machine.nextRun();
    expect(markedWith(attemptId).length).toBeGreaterThan(1);
    expect(allProcesses().filter(({ command }) => command.includes('quokka'))).toEqual([]);
    held.open();

    const answer = await done;
    expect(answer).toMatchObject({ status: 0, success: true, taskStatus: 'completed', observation: 'all done' });
    const [attempt, ...more] = await machine.attempts('C-1');
    expect(more).toEqual([]);
    expect(attempt).toMatchObject({
      attemptId,
      mode: 'start',
      spawns: 1,
      threadId: answer.threadId,
      exit: { code: 0 },
    });
    expect(rolloutsIn(codexHome)).toMatchObject([{ threadId: answer.threadId, threadSource: attemptId }]);
    expect(readFileSync(join(attempt?.workspacePath ?? '', 'made.txt'), 'utf8')).toBe('hello\n');
    expect(existsSync(join(machine.repository, 'made.txt'))).toBe(false);
    expect(await machine.status('C-1')).toBe('completed');
  });

  it('keeps the sandbox of its policy, in a resumed run as well (CX-7)', async () => {
    const script = '@shell echo written > written.txt';
    const first = await run('C-2', [script, '@say tried'], '--sandbox', 'read-only', '--accept', 'test -e written.txt');
    expect(first).toMatchObject({ code: 'CRITERIA_NOT_MET', taskStatus: 'failed' });
    await machine.perdure('task', 'note', 'C-2', `${script}\n@say tried again`);
    const second = await machine.perdure('dispatch', 'C-2', '--sandbox', 'read-only', '--wait');
    expect(second).toMatchObject({ success: true, threadId: first.threadId, observation: 'tried again' });
    const [attempt] = await machine.attempts('C-2');
    expect(existsSync(join(attempt?.workspacePath ?? '', 'written.txt'))).toBe(false);
  });

  it('is resumed in the same thread after a failure, and its usage is the difference (RN4, CX-18)', async () => {
    const failed = await run('C-3', ['@shell echo one > one.txt', '@fail 400']);
    expect(failed).toMatchObject({ status: 1, success: false, code: 'RUN_FAILED', taskStatus: 'failed' });
    expect(failed.error).toContain('the script wants a failure here');

    const second = await runAgain('C-3', '@usage 1000 50', '@say second');
    expect(second).toMatchObject({ success: true, threadId: failed.threadId, taskStatus: 'in_progress' });
    await machine.perdure('task', 'fail', 'C-3', '--reason', 'not good enough');
    const third = await runAgain('C-3', '@usage 300 7', '@say third');
    expect(third).toMatchObject({ success: true, threadId: failed.threadId, observation: 'third' });

    const attempts = await machine.attempts('C-3');
    expect(attempts.map(({ mode, spawns }) => [mode, spawns])).toEqual([
      ['start', 1],
      ['retry', 1],
      ['retry', 1],
    ]);
    expect(attempts[2]?.usage).toMatchObject({ inputTokens: 300, outputTokens: 7 });
    const seen = endpoint.requests.filter(({ threadId }) => threadId === failed.threadId).at(-1);
    // The task's text is in the thread already: it is not sent again as if it were new (WM).
    expect(seen?.userMessages.filter((message) => message.includes('@fail 400'))).toHaveLength(1);
    expect(seen?.userMessages.at(-1)).toContain('the last one failed');
  });

  it('is stopped in the middle of a command by SIGINT, leaves nothing behind, and resumes its thread (US-2, US-4)', async () => {
    const held = gate('never');
    const known = machine.runs();
    const stopped = run('C-4', [`@shell setsid sleep 4242 & ${held.command}`], '--sandbox', 'danger-full-access');
    await held.reached();
    const attemptId = await machine.nextRun(known);
    expect(await machine.perdure('stop', 'C-4')).toMatchObject({ status: 0, stopped: true, taskStatus: 'interrupted' });
    expect(markedWith(attemptId)).toEqual([]);
    expect(await stopped).toMatchObject({ status: 1, code: 'user_stopped', taskStatus: 'interrupted' });
    const [attempt] = await machine.attempts('C-4');
    expect(attempt).toMatchObject({ outcome: 'stopped', exit: { code: 1, forced: false } });

    const resumed = await runAgain('C-4', '@say went on');
    expect(resumed).toMatchObject({ success: true, threadId: attempt?.threadId, observation: 'went on' });
    expect((await machine.attempts('C-4'))[1]).toMatchObject({ mode: 'resume', spawns: 1 });
    // Only after SIGINT does Codex tell the model that its turn was aborted.
    const seen = endpoint.requests.at(-1)?.userMessages.join('\n');
    expect(seen).toContain('<turn_aborted>');
    expect(seen).toContain('the last one was interrupted');
  });

  it('is stopped by whoever interrupts Codex itself, and resumes its thread (US-13)', async () => {
    const held = gate('interrupted');
    const known = machine.runs();
    const interrupted = run('C-10', [`@shell ${held.command}`], '--sandbox', 'danger-full-access');
    await held.reached();
    const attemptId = await machine.nextRun(known);
    const [codex, ...more] = markedWith(attemptId).filter(
      ({ isLeader, command }) => isLeader && command.includes(' exec '),
    );
    expect(more).toEqual([]);
    process.kill(codex?.pid ?? 0, 'SIGINT');
    expect(await interrupted).toMatchObject({ status: 1, code: 'user_stopped', taskStatus: 'interrupted' });
    expect(markedWith(attemptId)).toEqual([]);
    const [attempt] = await machine.attempts('C-10');
    expect(attempt).toMatchObject({
      outcome: 'stopped',
      error: 'the user interrupted the provider',
      exit: { code: 1 },
    });
    const resumed = await runAgain('C-10', '@say went on');
    expect(resumed).toMatchObject({ success: true, threadId: attempt?.threadId, observation: 'went on' });
  });

  it('gets a new thread when its completed task is reopened (RO6)', async () => {
    await run('C-8', ['@say done']);
    const before = await machine.attempts('C-8');
    expect(await machine.perdure('dispatch', 'C-8', '--wait')).toMatchObject({ success: true });
    const [first, second] = await machine.attempts('C-8');
    expect(first).toEqual(before[0]);
    expect(second).toMatchObject({ mode: 'reopen', spawns: 1, outcome: 'completed' });
    expect(second?.threadId).not.toBe(first?.threadId);
  });

  it('is followed again after the worker was killed in the middle of a command, and is still the only one (GU-1)', async () => {
    const held = gate('adopted');
    const known = machine.runs();
    const done = run(
      'C-9',
      [`@shell ${held.command}; echo survived > survived.txt`, '@say survived'],
      '--accept',
      'cat survived.txt',
    );
    await held.reached();
    const attemptId = await machine.nextRun(known);
    await end(worker);
    const before = markedWith(attemptId).map(({ pid }) => pid);
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
    await until(() => machine.followerOf(attemptId) === worker.pid);
    expect(markedWith(attemptId).map(({ pid }) => pid)).toEqual(expect.arrayContaining(before.slice(0, 1)));
    held.open();
    expect(await done).toMatchObject({ success: true, taskStatus: 'completed', observation: 'survived' });
    expect(await machine.attempts('C-9')).toMatchObject([{ attemptId, spawns: 1 }]);
    expect(rolloutsIn(codexHome).filter(({ threadSource }) => threadSource === attemptId)).toHaveLength(1);
  });

  it('goes on in its thread after its runner and Codex itself were killed, when someone asks for it (RC-4, RC-13)', async () => {
    const held = gate('killed');
    const known = machine.runs();
    const lost = run('C-5', [`@shell ${held.command}`]);
    await held.reached();
    const attemptId = await machine.nextRun(known);
    const thread = await until(() => rolloutsIn(codexHome).find(({ threadSource }) => threadSource === attemptId));
    killThem([...leadersOf(machine.home.file('runs', attemptId)), ...markedWith(attemptId)]);
    expect(await lost).toMatchObject({
      status: 1,
      code: 'interrupted_owner',
      threadId: thread.threadId,
      taskStatus: 'in_progress',
    });
    const resumed = await runAgain('C-5', '@say recovered');
    expect(resumed).toMatchObject({ success: true, threadId: thread.threadId, observation: 'recovered' });
    expect((await machine.attempts('C-5')).map(({ spawns }) => spawns)).toEqual([1, 1]);
    const stages = ['interrupted', 'probed', 'evidence_saved', 'decided', 'resumed', 'closed'];
    expect(await machine.begin(['incident', 'show', 'C-5'])).toMatchObject({
      incident: { stages: stages.map((stage) => ({ stage })) },
    });
  });

  it('resumes in the Codex home that its thread is in, whatever the worker has now (CX-16)', async () => {
    const first = await run('C-6', ['@say begun'], '--accept', 'false');
    expect(first).toMatchObject({ code: 'CRITERIA_NOT_MET', taskStatus: 'failed' });
    const linesOf = () => rolloutsIn(codexHome).find(({ threadId }) => threadId === first.threadId)?.lines ?? 0;
    const before = linesOf();

    await end(worker, 'SIGTERM');
    const otherHome = await endpoint.makeHome(machine.home.file('other-home'));
    worker = await machine.startWorker('all', { CODEX_HOME: otherHome });
    expect(await runAgain('C-6', '@say went on')).toMatchObject({ success: true, threadId: first.threadId });
    expect((await machine.attempts('C-6')).map((attempt) => attempt.codexHome)).toEqual([codexHome, codexHome]);
    expect(rolloutsIn(otherHome)).toEqual([]);
    expect(linesOf()).toBeGreaterThan(before);

    const fresh = await run('C-7', ['@say in the other home']);
    expect(rolloutsIn(otherHome)).toMatchObject([{ threadId: fresh.threadId }]);
  });
});

describe('the histories of all this', () => {
  it('replay, and are of all five workflow types', async () => {
    // The sweep for orphans is due every ten minutes of the clock, and may fall into this.
    expect(Object.keys(await replayAll(server.client))).toEqual(
      expect.arrayContaining(['dispatchTask', 'failOrphan', 'reopenTask', 'resumeCodex', 'task']),
    );
  });
});
