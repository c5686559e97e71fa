import { existsSync, writeFileSync } from 'node:fs';
import { DevServer, until } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { markedWith } from '../helpers/outside-view';

jest.setTimeout(120_000);

const EVENTS = {
  start: `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000001"}'`,
  result: `echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"a good result"}}'`,
  done: `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`,
};
const FOREVER = 'while :; do sleep 0.05; done';

let server: DevServer;
let machine: Machine;
let program: string;
let serial = 0;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  program = machine.home.file('agent');
  await machine.startWorker('all', { PERDURE_CODEX_BIN: program });
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

const sh = (...lines: string[]) => ['#!/bin/sh', ...lines, ''].join('\n');

/** Dispatches a new task to an agent of these lines, and waits until it has begun. */
async function begin(...lines: string[]): Promise<{ taskId: string; attemptId: string; begun: string }> {
  serial += 1;
  const taskId = `T-${serial}`;
  const begun = machine.home.file(`begun-${serial}`);
  const known = machine.runs();
  writeFileSync(program, sh(EVENTS.start, ...lines.map((line) => line.replaceAll('$begun', `'${begun}'`))), { mode: 0o755 });
  await machine.perdure('task', 'create', '--title', 'Go', '--id', taskId);
  await machine.perdure('dispatch', taskId);
  const attemptId = await machine.nextRun(known);
  await until(() => existsSync(begun));
  return { taskId, attemptId, begun };
}

/** Looks again and again until a promise has settled. */
async function during<T>(promise: Promise<T>, look: () => Promise<void>): Promise<T> {
  const state = { isOver: false };
  const over = promise.finally(() => (state.isOver = true));
  while (!state.isOver) await look();
  return over;
}

describe('perdure stop', () => {
  it('says interrupted only when the group is gone, and no second run begins before that (P67)', async () => {
    const side = machine.home.file('side.txt');
    const late = `(trap '' INT; sleep 1.5; : > '${side}') &`;
    const { taskId, attemptId } = await begin(`trap '' INT`, late, ': > $begun', FOREVER);
    const seen: string[] = [];
    const answer = await during(machine.perdure('stop', taskId), async () => {
      const { code, success } = await machine.perdure('dispatch', taskId);
      const left = markedWith(attemptId).length;
      seen.push(success ? 'dispatched' : String(code));
      if (success) expect(left).toBe(0);
    });
    console.log(seen);
    expect(answer).toMatchObject({ stopped: true, attemptId, outcome: 'stopped' });
    expect(existsSync(side)).toBe(true);
    expect(seen[0]).toBe('TASK_NOT_DISPATCHABLE');
    console.log(await machine.attempts(taskId));
  });

  it('shows a run that ends well when it is stopped as interrupted (P115)', async () => {
    const { taskId } = await begin(`trap 'exit 0' INT`, ': > $begun', FOREVER);
    const stopped = await machine.perdure('stop', taskId);
    expect(stopped).toMatchObject({ stopped: true, outcome: 'stopped', taskStatus: 'interrupted' });
  });

  it('keeps the result that a run prints when it is stopped, and shows it as interrupted (P115)', async () => {
    const { taskId } = await begin(`trap "${EVENTS.result.replaceAll('"', '\\"')}; ${EVENTS.done.replaceAll('"', '\\"')}; exit 0" INT`, ': > $begun', FOREVER);
    const stopped = await machine.perdure('stop', taskId);
    expect(stopped).toMatchObject({ stopped: true, outcome: 'stopped', taskStatus: 'interrupted' });
    expect(await machine.attempts(taskId)).toMatchObject([{ observation: { text: 'a good result' } }]);
  });

  it('says that it came too late for a run that has ended by itself (P115)', async () => {
    const { taskId, attemptId } = await begin(EVENTS.result, EVENTS.done, ': > $begun');
    await until(() => existsSync(machine.home.file('runs', attemptId, 'exit.json')));
    const stopped = await machine.perdure('stop', taskId);
    console.log(stopped, await machine.attempts(taskId));
  });
});

describe('a task whose agent obeys nothing but SIGKILL', () => {
  it.each([
    ['completed', ['task', 'complete'], ['--result', 'r']],
    ['failed', ['task', 'fail'], ['--reason', 'r']],
    ['cancelled', ['task', 'cancel'], []],
  ])('and that is %s meanwhile stays on the list until a stop has ended the agent (P88)', async (status, command, more) => {
    const { taskId, attemptId } = await begin(`trap '' INT TERM`, ': > $begun', FOREVER);
    const changed = await machine.perdure(...command, taskId, ...more);
    expect(changed).toMatchObject({ success: true, status: 0 });
    console.log(changed, await machine.perdure('why', taskId), markedWith(attemptId).length);
    const list = await machine.perdure('task', 'list');
    console.log(JSON.stringify(list));
    console.log(await machine.perdure('stop', taskId));
    expect(markedWith(attemptId)).toEqual([]);
    expect(await machine.status(taskId)).toBe(status);
  });
});
