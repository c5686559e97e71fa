import { existsSync, writeFileSync } from 'node:fs';
import { createTask, dispatchTask, noteTask, waitSettled, type Session } from '../../client/index';
import { queryAttempts } from '../../client/record';
import { valueOf } from '../../client/outcome';
import { DevServer } from '../helpers/dev-server';
import { started } from '../helpers/started';
import { Machine } from '../helpers/machine';

const MB = 1_000_000;
const LINES = 40_000;
/** Clipboard, link, cursor, C1, bell, carriage return, backspace, a forged line, and text that runs backwards. */
const HOSTILE =
  '\u001b]52;c;cm0=\u0007 \u001b]8;;http://x\u0007l \u001b[2J \u009b2J \u0007 a\rb c\bd e\nT-9  completed forged \u202egnp';
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

let server: DevServer;
let machine: Machine;
let session: Session;
let serial = 0;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  session = await machine.session();
  await machine.startWorker('all', { PERDURE_CODEX_BIN: machine.agent });
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

const START = { type: 'thread.started', thread_id: '01a00000-0000-7000-8000-000000000001' };
const message = (words: string) => ({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: words } });
const DONE = { type: 'turn.completed', usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } };
const FAILED = (words: string) => ({ type: 'turn.failed', error: { message: words } });

/** Dispatches a new task to an agent that prints these events, and gives its id; it may wait for the file `$go`. */
async function begin(events: object[], { title = 'Go', wait = '' } = {}) {
  serial += 1;
  const taskId = `T-${serial}`;
  const printed = machine.home.file(`events-${serial}`);
  writeFileSync(printed, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  machine.writeAgent(wait, `exec cat '${printed}'`);
  valueOf(await createTask(session, { title, id: taskId, workspace: machine.repository }));
  const { attemptId } = started(valueOf(await dispatchTask(session, { taskId })));
  const settled = () => waitSettled(session, { taskId, attemptId }, () => undefined);
  return { taskId, attemptId, settled };
}

describe('output of others', () => {
  it('never steers the terminal of who reads a task, its log or the list (P111)', async () => {
    const { taskId, settled } = await begin([START, message(HOSTILE), FAILED(HOSTILE)], { title: HOSTILE });
    expect(await settled()).toMatchObject({ success: false, code: 'RUN_FAILED' });
    valueOf(await noteTask(session, taskId, { summary: HOSTILE }));
    for (const args of [
      ['task', 'show', taskId],
      ['logs', taskId],
      ['why', taskId],
      ['task', 'list'],
      ['audit', taskId],
    ]) {
      const { stdout, stderr } = await machine.read(args);
      expect(stdout).not.toMatch(STEERING);
      expect(stderr).not.toMatch(STEERING);
      expect(stdout).not.toMatch(/^T-9 {2}completed/m);
    }
    const { stderr } = await machine.read(['task', 'show', HOSTILE]);
    expect(stderr).not.toMatch(STEERING);
    const shown = await machine.read(['task', 'show', taskId, '--json']);
    expect(shown.stdout.trimEnd()).not.toMatch(STEERING);
    expect(JSON.parse(shown.stdout)).toMatchObject({ task: { title: HOSTILE } });
  });
});

describe('output of a large size', () => {
  it('is kept in part, with where the whole is, and does not change the outcome (P50, P114)', async () => {
    const { taskId, attemptId, settled } = await begin([START, message('x'.repeat(5 * MB)), DONE]);
    expect(await settled()).toMatchObject({ success: true });
    const { observation } = (await queryAttempts(session, taskId)).at(-1) ?? {};
    expect(observation).toMatchObject({ bytes: 5 * MB, ref: expect.stringContaining(attemptId) });
    expect(observation?.text.length).toBe(32 * 1024);
    expect(existsSync(machine.home.file('runs', attemptId, 'last-message.txt'))).toBe(true);
  });

  it('of a failure is kept in part, and the task fails with it (P50)', async () => {
    const { taskId, settled } = await begin([START, FAILED(`E-CANARY ${'x'.repeat(5 * MB)}`)]);
    expect(await settled()).toMatchObject({ success: false, code: 'RUN_FAILED', taskStatus: 'failed' });
    const error = (await queryAttempts(session, taskId)).at(-1)?.error ?? '';
    expect(error).toContain('E-CANARY');
    expect(error.length).toBeLessThanOrEqual(1_000);
  });

  it('is followed without a gap and without a line twice, and a reader may go away (P114)', async () => {
    const events = [START, ...Array.from({ length: LINES }, (_, line) => message(`line ${line}`)), DONE];
    const go = machine.home.file('go');
    const { taskId, settled } = await begin(events, { wait: `while [ ! -e '${go}' ]; do sleep 0.05; done` });
    const following = machine.read(['logs', taskId, '--follow', '--raw']);
    writeFileSync(go, '');
    expect(await settled()).toMatchObject({ success: true, observation: `line ${LINES - 1}` });
    const { status, stdout } = await following;
    expect(status).toBe(0);
    expect(stdout).toBe(events.map((event) => `${JSON.stringify(event)}\n`).join(''));

    const last = JSON.parse((await machine.read(['logs', taskId, '--json'])).stdout) as {
      omitted: number;
      path: string;
    };
    expect(last).toMatchObject({ omitted: events.length - 1_000, path: expect.stringMatching(/stdout\.jsonl$/) });
    const { status: left, first, stderr } = await machine.head(['logs', taskId, '--raw']);
    expect([left, first]).toEqual([0, JSON.stringify(START)]);
    expect(stderr).toMatch(/^attempt .*\n$/);
  });
});
