import { existsSync } from 'node:fs';
import {
  createTask,
  dispatchTask,
  explainTask,
  setTaskStatus,
  showTask,
  stopTask,
  type Session,
} from '../../client/index';
import { queryAttempts } from '../../client/record';
import { valueOf } from '../../client/outcome';
import type { StatusChange } from '../../contract/task';
import { DevServer, until } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { markedWith } from '../helpers/outside-view';

const START = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000001"}'`;
const RESULT = [
  `echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"a good result"}}'`,
  `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`,
];
const FOREVER = 'while :; do sleep 0.05; done';

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

/** Dispatches a new task to an agent of these lines; it has begun when the file `$begun` is there. */
async function begin(...lines: string[]): Promise<{ taskId: string; attemptId: string }> {
  serial += 1;
  const taskId = `T-${serial}`;
  const begun = machine.home.file(`begun-${serial}`);
  const known = machine.runs();
  machine.writeAgent(START, ...lines.map((line) => line.replaceAll('$begun', `'${begun}'`)));
  valueOf(await createTask(session, { title: 'Go', id: taskId, workspace: machine.repository }));
  valueOf(await dispatchTask(session, { taskId }));
  const attemptId = await machine.nextRun(known);
  await until(() => existsSync(begun));
  return { taskId, attemptId };
}

const stop = (taskId: string) => stopTask(session, { taskId }, () => undefined);
const statusOf = async (taskId: string) => valueOf(await showTask(session, taskId)).task.status;
const whyOf = async (taskId: string) => valueOf(await explainTask(session, taskId));
const lastAttempt = async (taskId: string) => (await queryAttempts(session, taskId)).at(-1);

/** Looks again and again until a promise has settled, and at least once. */
async function during<T>(promise: Promise<T>, look: () => Promise<void>): Promise<T> {
  const state = { isOver: false };
  const over = promise.finally(() => (state.isOver = true));
  do await look();
  while (!state.isOver);
  return over;
}

describe('a stop', () => {
  it('says interrupted only when the group is gone, and no second run begins before that (P67)', async () => {
    const side = machine.home.file('side.txt');
    const late = `(trap '' INT; sleep 1.5; : > '${side}') &`;
    const { taskId, attemptId } = await begin(`trap '' INT`, late, ': > $begun', FOREVER);
    const refusals: string[] = [];
    const stopping = stop(taskId);
    const answer = await during(stopping, async () => {
      const status = await statusOf(taskId);
      if (status === 'interrupted') expect(markedWith(attemptId)).toEqual([]);
      const dispatched = status === 'interrupted' ? undefined : await dispatchTask(session, { taskId });
      if (dispatched?.success === false) refusals.push(dispatched.code);
      else if (dispatched?.success === true) expect(markedWith(attemptId)).toEqual([]);
    });
    expect(answer).toMatchObject({ stopped: true, attemptId, outcome: 'stopped', taskStatus: 'interrupted' });
    expect(refusals).toContain('TASK_NOT_DISPATCHABLE');
    expect(existsSync(side)).toBe(true);
    expect(machine.runs().filter((run) => markedWith(run).length > 0)).toEqual([]);
  });

  it('shows a run that ends well because it is stopped as interrupted (P115)', async () => {
    const { taskId } = await begin(`trap 'exit 0' INT`, ': > $begun', FOREVER);
    const stopped = await stop(taskId);
    expect(stopped).toMatchObject({ stopped: true, outcome: 'stopped', taskStatus: 'interrupted' });
    expect(await lastAttempt(taskId)).toMatchObject({ outcome: 'stopped', code: 'user_stopped' });
  });

  it('keeps the result that a run prints because it is stopped, and shows it as interrupted (P115)', async () => {
    const { taskId } = await begin('finish() {', ...RESULT, 'exit 0', '}', 'trap finish INT', ': > $begun', FOREVER);
    const stopped = await stop(taskId);
    expect(stopped).toMatchObject({ stopped: true, outcome: 'stopped', taskStatus: 'interrupted' });
    expect((await lastAttempt(taskId))?.observation?.text).toBe('a good result');
  });

  it('leaves a run completed whose result was there before the stop (P115)', async () => {
    const { taskId } = await begin(`trap 'exit 0' INT`, ...RESULT, ': > $begun', FOREVER);
    expect(await stop(taskId)).toMatchObject({ stopped: true, outcome: 'completed' });
  });

  it('says that it came too late for a run that has ended by itself (P115)', async () => {
    const { taskId } = await begin(...RESULT, ': > $begun');
    await until(async () => (await whyOf(taskId)).attention === 'outcome');
    expect(await stop(taskId)).toMatchObject({
      code: 'TASK_NOT_RUNNING',
      hint: expect.stringMatching(/The last run ended completed at /),
    });
    expect(await lastAttempt(taskId)).toMatchObject({ outcome: 'completed' });
  });
});

describe('a task whose agent obeys nothing but SIGKILL', () => {
  const deaf = [`trap '' INT TERM`, ': > $begun', FOREVER];

  it.each<[StatusChange]>([[{ status: 'completed', result: 'r' }], [{ status: 'failed', failureReason: 'r' }]])(
    'keeps saying so after %j, until a stop has ended the agent (P88)',
    async (change) => {
      const { taskId, attemptId } = await begin(...deaf);
      const changed = valueOf(await setTaskStatus(session, taskId, change));
      expect(changed.warnings).toEqual([expect.stringMatching(/still works/)]);
      expect(markedWith(attemptId)).not.toEqual([]);
      const { attention, facts } = await whyOf(taskId);
      expect({ attention, facts }).toMatchObject({
        attention: 'running',
        facts: [expect.stringContaining(attemptId), ...Array(3).fill(expect.any(String))],
      });
      expect(await stop(taskId)).toMatchObject({ stopped: true, taskStatus: change.status });
      expect(markedWith(attemptId)).toEqual([]);
    },
  );

  it('is ended by a cancellation of the task, and says that it is being ended until then (P88)', async () => {
    const { taskId, attemptId } = await begin(...deaf);
    valueOf(await setTaskStatus(session, taskId, { status: 'cancelled' }));
    const said: string[] = [];
    while (markedWith(attemptId).length > 0) said.push((await whyOf(taskId)).attention);
    await until(async () => (await whyOf(taskId)).attention === 'none');
    expect(await lastAttempt(taskId)).toMatchObject({ outcome: 'stopped', exit: { forced: true } });
    expect(await statusOf(taskId)).toBe('cancelled');
    expect(said).toContain('stopping');
  });
});
