import type { ChildProcess } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { markedWith, memoryOf } from '../helpers/outside-view';
import { replayAll } from '../helpers/replay';

/** What the longest line alone would take if it were held: bytes, joined, and as text. */
const MEMORY_MIB = 300;
const START = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000001"}'`;
const OTHER = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000002"}'`;
const DONE = `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`;
const sh = (...lines: string[]) => ['#!/bin/sh', ...lines, ''].join('\n');

let server: DevServer;
let machine: Machine;
let worker: ChildProcess;
let program: string;
let memoryBefore: number;
let serial = 0;

beforeAll(async () => {
  server = await DevServer.start();
  // The caller sees a program that is in order; what the worker starts is another one.
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  program = machine.home.file('misbehaving');
  const limits = { startMs: 2_000, outputBytes: 256 * 1024 ** 2 };
  writeFileSync(machine.home.file('config.json'), JSON.stringify({ limits }));
  worker = await machine.startWorker('all', { PERDURE_CODEX_BIN: program });
  await runWith(sh(START, DONE));
  memoryBefore = memoryOf(Number(worker.pid), 'VmRSS');
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

/** Runs a task with this text as the provider. */
async function runWith(text: string, { mode = 0o755, options = [] as string[] } = {}) {
  rmSync(program, { force: true });
  writeFileSync(program, text);
  chmodSync(program, mode);
  serial += 1;
  const taskId = `M-${serial}`;
  const answer = await machine.perdure('run', '--title', 'Misbehave', '--id', taskId, ...options);
  return { taskId, answer };
}

async function expectFailure({ taskId, answer }: Awaited<ReturnType<typeof runWith>>, code: string, spawns = 1) {
  expect(answer).toMatchObject({ status: 1, success: false, code, taskStatus: 'failed' });
  const [attempt, ...more] = await machine.attempts(taskId);
  expect(more).toEqual([]);
  expect(attempt).toMatchObject({ spawns, code, outcome: 'failed' });
  expect(markedWith(attempt?.attemptId ?? '')).toEqual([]);
  expect(worker.exitCode).toBeNull();
  return attempt;
}

describe('a provider that cannot be started', () => {
  it.each([
    { what: 'is not executable', code: 'executable_unavailable', text: sh('exit 0'), mode: 0o644 },
    { what: 'is no program', code: 'spawn_failed', text: 'just text\n' },
    { what: 'has an interpreter that is missing', code: 'spawn_failed', text: '#!/nothing/here\n' },
  ])('because it $what fails the task with $code, and counts no spawn', async ({ text, code, mode = 0o755 }) => {
    await expectFailure(await runWith(text, { mode }), code, 0);
  });
});

describe('a provider that ends without a result', () => {
  it.each([
    ['ends at once', 'provider_exited', sh('exit 7')],
    ['refuses its command line', 'usage_error', sh('echo "unexpected argument" >&2', 'exit 2')],
    ['prints no JSON', 'output_unreadable', sh('echo hello', 'echo world')],
    ['begins a thread and no more', 'outcome_missing', sh(START)],
    ['is killed', 'killed_by_signal', sh(START, 'kill -KILL $$')],
    ['names no thread', 'thread_missing', sh(DONE)],
    ['names two threads', 'thread_ambiguous', sh(START, OTHER, DONE)],
  ])('%s: the task fails with the code %s', async (_what, code, text) => {
    await expectFailure(await runWith(text), code);
  });
});

describe('a provider that prints too much', () => {
  const fill = 'head -c 200000000 /dev/zero | tr "\\0" x';

  it('in one line of 200 MB fails the task and not the worker', async () => {
    await expectFailure(await runWith(sh(fill)), 'output_limit');
    await expectFailure(await runWith(sh(START, fill)), 'output_limit');
  });

  it('without an end is ended at the limit', async () => {
    const block = machine.home.file('block');
    const item = { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'x'.repeat(1024 ** 2) } };
    writeFileSync(block, `${JSON.stringify(item)}\n`);
    const text = sh(START, 'while :; do', `cat '${block}'`, 'done');
    await expectFailure(await runWith(text), 'output_limit');
  });
});

describe('a provider that never ends', () => {
  it('is ended at the time limit, also when it ignores SIGINT and SIGTERM', async () => {
    const text = sh("trap '' INT TERM", START, 'while :; do sleep 0.2; done');
    const attempt = await expectFailure(await runWith(text, { options: ['--time-limit', '3s'] }), 'time_budget');
    expect(attempt?.exit).toMatchObject({ signal: 'SIGKILL', forced: true });
  });

  it('is ended when it says nothing for too long', async () => {
    const text = sh(START, 'sleep 4242');
    await expectFailure(await runWith(text, { options: ['--inactivity', '1s'] }), 'inactive');
  });

  it('is ended when it begins no thread', async () => {
    await expectFailure(await runWith(sh('sleep 4242')), 'start_deadline');
  });
});

describe('the worker', () => {
  it('is the same process after all of that, within bounds of memory, and runs a task of the largest size', async () => {
    const used = memoryOf(Number(worker.pid), 'VmHWM') - memoryBefore;
    process.stderr.write(`memory of the worker at its highest: ${used.toFixed(0)} MiB above the first run\n`);
    expect(used).toBeLessThan(MEMORY_MIB);
    rmSync(program);
    writeFileSync(program, sh('wc -c > "$0.read"', START, DONE), { mode: 0o755 });
    const args = ['run', '--title', 'y'.repeat(1_000), '--id', 'M-large', '--description', '-'];
    const answer = await machine.begin(args, { stdin: 'x'.repeat(256 * 1024) });
    expect(answer).toMatchObject({ status: 0, success: true, taskStatus: 'completed' });
    expect(worker.exitCode).toBeNull();
  });
});

describe('the histories of all this', () => {
  it('replay', async () => {
    expect(Object.keys(await replayAll(server.client))).toEqual(expect.arrayContaining(['dispatchTask', 'task']));
  });
});
