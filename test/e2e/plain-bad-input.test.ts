import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { TypedSearchAttributes } from '@temporalio/common';
import { firstAttributes } from '../../client/create-task';
import { ORCHESTRATOR_QUEUE, taskWorkflowId } from '../../contract/names';
import { RULES } from '../../contract/run';
import { addActivityUpdate, newTaskSchema } from '../../contract/task';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { OperatorShell } from '../helpers/operator-shell';
import { until } from '../helpers/until';

// No host works here: what is refused starts nothing.
let server: DevServer;
let machine: Machine;
let shell: OperatorShell;

const handle = (taskId: string) => server.client.workflow.getHandle(taskWorkflowId({ tenantId: 'default', taskId }));

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  shell = new OperatorShell(server.address, machine.home);
  await machine.startWorker('orchestrator');
  await machine.perdure('task', 'create', '--id', 'B-1', '--title', 'Say hello', '--meta', 'k=v');
  await machine.perdure('task', 'create', '--id', 'B-2', '--title', 'Say good-bye', '--depends-on', 'B-1');
  await machine.begin(['task', 'create', '--id', 'O-1', '--title', 'Of others'], { env: { PERDURE_TENANT: 'other' } });
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

/** Everything that a task's record holds, as text. */
async function bytes(taskId: string): Promise<string> {
  const task = handle(taskId);
  const queries = ['task', 'attempts', 'incidents'].map((name) => task.query<unknown>(name));
  return JSON.stringify(await Promise.all(queries));
}

/** Puts an input into a file that the plain command line reads. */
function fileOf(text: string): string {
  const file = machine.home.file('input.json');
  writeFileSync(file, text);
  return `--input-file '${file}'`;
}

/** Sends an update with the plain command line; answers the code that came out, and what else it said. */
async function send(name: string, input: string, taskId = 'B-1'): Promise<{ code: string | undefined; said: string }> {
  const { status, stderr } = await shell.run(
    `temporal workflow update execute -w task/default/${taskId} --name ${name} ${input}`,
  );
  expect(status).toBe(1);
  return { code: /\(type: (\w+), retryable: false\)/.exec(stderr)?.[1], said: stderr };
}

/** Asserts that an update is refused with a code and leaves record and history as they are. */
async function expectRefused(name: string, input: string, code: string): Promise<void> {
  const before = [await bytes('B-1'), (await handle('B-1').describe()).historyLength];
  expect((await send(name, input)).code).toBe(code);
  expect([await bytes('B-1'), (await handle('B-1').describe()).historyLength]).toEqual(before);
}

const CANCELLED = `--input '{"status":"cancelled"}'`;
const nested = (levels: number) => `{"metadata":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;

describe('temporal workflow update execute', () => {
  it.each([
    ['an unknown field', 'update', '{"colour":"red"}', 'INVALID_ARGUMENT'],
    ['a tenant (GN2)', 'update', '{"title":"x","tenantId":"other"}', 'INVALID_ARGUMENT'],
    ['a wrong type', 'update', '{"title":7}', 'INVALID_ARGUMENT'],
    ['a priority that is none', 'update', '{"priority":"urgent"}', 'INVALID_ARGUMENT'],
    ['a due date that is none', 'update', '{"dueDate":"tomorrow"}', 'INVALID_ARGUMENT'],
    ['a status in an update (MT9, TS11)', 'update', '{"title":"x","status":"completed"}', 'STATUS_NOT_UPDATABLE'],
    ['a status that is null in an update (TS11)', 'update', '{"status":null}', 'STATUS_NOT_UPDATABLE'],
    ['a NUL character', 'update', '{"title":"a\\u0000b"}', 'INVALID_ARGUMENT'],
    ['half a surrogate pair', 'update', '{"description":"a\\ud800b"}', 'INVALID_ARGUMENT'],
    ['a dependency that can be no id', 'update', '{"dependencies":["a/b"]}', 'INVALID_ARGUMENT'],
    ['a dependency that is no text', 'update', '{"dependencies":[1]}', 'INVALID_ARGUMENT'],
    ['a thread that can be none (TR5)', 'update', '{"context":{"thread_id":"x"}}', 'INVALID_ARGUMENT'],
    ['a nesting of 40 levels', 'update', nested(40), 'INVALID_ARGUMENT'],
    ['a nesting of 8,000 levels', 'update', nested(8_000), 'INVALID_ARGUMENT'],
    ['no field at all', 'update', '{}', 'INVALID_ARGUMENT'],
    ['a list', 'update', '[]', 'INVALID_ARGUMENT'],
    ['nothing but null', 'update', 'null', 'INVALID_ARGUMENT'],
    ['a status that is none (TR4)', 'setStatus', '{"status":"review_required"}', 'INVALID_ARGUMENT'],
    ['no status', 'setStatus', '{"result":"r"}', 'INVALID_ARGUMENT'],
    ['a status that cannot follow (TS7)', 'setStatus', '{"status":"completed","result":"r"}', 'TASK_STATUS_CONFLICT'],
    ['a blank note', 'addActivity', '{"summary":" "}', 'INVALID_ARGUMENT'],
    ['a note that is no text', 'addActivity', '{"summary":{}}', 'INVALID_ARGUMENT'],
    ['a note with a NUL character', 'addActivity', '{"summary":"\\u0000"}', 'INVALID_ARGUMENT'],
    ['an unknown agent (DS17)', 'dispatch', '{"agentId":"nobody"}', 'AGENT_NOT_FOUND'],
    ['no agent', 'dispatch', '{}', 'INVALID_ARGUMENT'],
    ['a sandbox that is none', 'dispatch', '{"agentId":"a","policy":{"sandbox":"none"}}', 'INVALID_ARGUMENT'],
    ['a limit below its bound', 'dispatch', '{"agentId":"a","limits":{"timeMs":1}}', 'INVALID_ARGUMENT'],
    ['a stop without a run', 'stop', '{}', 'TASK_NOT_RUNNING'],
    ['a reason that is no text', 'stop', '{"reason":1}', 'INVALID_ARGUMENT'],
    ['a decision that is none', 'decide', '{"decision":"maybe"}', 'INVALID_ARGUMENT'],
    ['a decision about nothing', 'decide', '{"decision":"accept"}', 'NOTHING_TO_DECIDE'],
    ['a thread to reopen that is none', 'reopen', '{"threadId":"x"}', 'INVALID_ARGUMENT'],
    ['a reopening of what is pending (RO1)', 'reopen', '{}', 'TASK_STATUS_CONFLICT'],
  ])('changes nothing for %s: %s (GN9)', async (...[, name, json, code]) => {
    await expectRefused(name, fileOf(json), code);
  });

  it('changes nothing for an update without any input (GN9)', async () => {
    await expectRefused('addActivity', '', 'INVALID_ARGUMENT');
  });

  it('names setStatus where an update holds a status (MT9)', async () => {
    const update = handle('B-1').executeUpdate('update', { args: [{ status: 'completed' }] });
    await expect(update).rejects.toMatchObject({
      cause: { type: 'STATUS_NOT_UPDATABLE', details: [{ hint: expect.stringContaining('setStatus') as string }] },
    });
  });

  it.each([
    ['update', 'description'],
    ['addActivity', 'summary'],
    ['dispatch', 'agentId'],
  ])('changes nothing for 1.9 MB: %s, and the task goes on', async (name, field) => {
    await expectRefused(name, fileOf(JSON.stringify({ [field]: 'x'.repeat(1_900_000) })), 'INVALID_ARGUMENT');
    await handle('B-1').executeUpdate(addActivityUpdate, { args: [{ summary: `after ${name}` }] });
  });

  it('refuses 3 MB soon, fails no workflow task by it, and goes on', async () => {
    const before = await bytes('B-1');
    const began = (await handle('B-1').describe()).historyLength;
    const { said } = await send('addActivity', fileOf(JSON.stringify({ summary: 'x'.repeat(3_000_000) })));
    expect(said).toContain('unable to update workflow');
    expect(await bytes('B-1')).toBe(before);
    expect((await handle('B-1').describe()).historyLength).toBe(began);
    await handle('B-1').executeUpdate(addActivityUpdate, { args: [{ summary: 'after 3 MB' }] });
  });

  it('takes what is nested as deep as it may be, and goes on with it in the next phase', async () => {
    await shell.json(`temporal workflow update execute -w task/default/B-2 --name update ${fileOf(nested(31))}`);
    await shell.json(`temporal workflow update execute -w task/default/B-2 --name setStatus ${CANCELLED}`);
    await shell.json(`temporal workflow update execute -w task/default/B-2 --name reopen --input '{}'`);
    expect(await handle('B-2').query<unknown>('task')).toMatchObject({ status: 'in_progress' });
  });
});

describe('temporal workflow start', () => {
  const create = (change: object) => ({
    create: {
      ...{ id: 'S-1', tenantId: 'default', title: 'x', ownerId: 'general-purpose', actor: 'operator' },
      ...{ workspace: { hostId: 'h', path: null }, createdAt: '2026-01-01T00:00:00.000Z', ...change },
    },
  });

  it.each([
    ['a wrong type', 'task', create({ title: 7 })],
    ['an unknown field', 'task', create({ colour: 'red' })],
    ['a NUL character', 'task', create({ title: 'a\u0000b' })],
    ['half a surrogate pair', 'task', create({ title: 'a\ud800b' })],
    ['1.9 MB', 'task', create({ description: 'x'.repeat(1_900_000) })],
    ['an unknown status', 'task', create({ status: 'review_required' })],
    ['a dispatch that is none', 'dispatchTask', { ...create({}), dispatch: {}, attemptId: 'x' }],
    ['nothing of a task', 'reopenTask', {}],
  ])('ends at once for %s, and leaves no task behind (GN9)', async (_what, type, input) => {
    const workflowId = `task/default/S-${String(Date.now())}`;
    const options = `-w ${workflowId} --type ${type} --task-queue perdure`;
    await shell.json(`temporal workflow start ${options} ${fileOf(JSON.stringify(input))}`);
    const started = server.client.workflow.getHandle(workflowId);
    await expect(started.result()).rejects.toMatchObject({ cause: { type: 'INVALID_ARGUMENT' } });
    expect((await started.describe()).historyLength).toBe(5);
  });

  it.each([
    ['nothing', ''],
    ['a text', `--input '"x"'`],
    ['null', `--input null`],
  ])('ends at once for %s as input (GN9)', async (_what, input) => {
    const workflowId = `task/default/S-${String(Date.now())}`;
    await shell.json(`temporal workflow start -w ${workflowId} --type task --task-queue perdure ${input}`);
    const started = server.client.workflow.getHandle(workflowId);
    await expect(started.result()).rejects.toMatchObject({ cause: { type: 'INVALID_ARGUMENT' } });
  });

  it('leaves a task that every command says the truth about: it never began, and why', async () => {
    const newTask = newTaskSchema.parse(create({ id: 'S-unbegun' }).create);
    const dispatch = { agentId: 'general-purpose', supervise: {} };
    await server.client.workflow.start('dispatchTask', {
      workflowId: 'task/default/S-unbegun',
      taskQueue: ORCHESTRATOR_QUEUE,
      args: [{ create: create({ id: 'S-unbegun' }).create, dispatch, attemptId: randomUUID(), version: RULES }],
      typedSearchAttributes: new TypedSearchAttributes(firstAttributes({ type: 'dispatchTask', newTask })),
    });
    await expect(handle('S-unbegun').result()).rejects.toMatchObject({ cause: { type: 'invalid_criteria' } });
    const never =
      'task S-unbegun never began: its first run refused what it was given (invalid_criteria: task S-unbegun has no acceptance criteria to prove)';
    const truth = {
      status: 1,
      code: 'TASK_TERMINAL',
      error: never,
      hint: expect.stringContaining('another id') as string,
    };
    const commands = [['why'], ['task', 'show'], ['audit'], ['watch'], ['dispatch'], ['stop']];
    for (const command of commands) expect(await machine.perdure(...command, 'S-unbegun')).toMatchObject(truth);
    const evidence = [`${never}; create it again with another id`];
    await until(async () => JSON.stringify(await machine.perdure('orphans')).includes(JSON.stringify(evidence)));
    const applied = await machine.perdure('orphans', '--apply');
    expect(JSON.stringify(applied)).toContain('"action":"left"');
    expect(JSON.stringify(applied)).not.toContain('could not be judged');
  });

  it('stores nothing of 3 MB', async () => {
    const options = '-w task/default/S-1 --type task --task-queue perdure';
    const { status, stderr } = await shell.run(
      `temporal workflow start ${options} ${fileOf(JSON.stringify(create({ description: 'x'.repeat(3_000_000) })))}`,
    );
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('exceeds limit') as string });
    expect(await machine.perdure('task', 'show', 'S-1')).toMatchObject({ status: 4, code: 'TASK_NOT_FOUND' });
  });
});

describe('an id of another tenant', () => {
  it.each([
    ['a dependency', (id: string) => `{"dependencies":["B-2","${id}"]}`],
    ['a parent', (id: string) => `{"parentId":"${id}"}`],
  ])('is to an update as %s what an absent one is (GN1, PD10)', async (_what, json) => {
    await machine.perdure('task', 'create', '--id', 'B-3', '--title', 'On its own');
    const before = await bytes('B-3');
    const foreign = await send('update', fileOf(json('O-1')), 'B-3');
    const absent = await send('update', fileOf(json('N-1')), 'B-3');
    expect(foreign).toEqual({ code: 'INVALID_ARGUMENT', said: absent.said.replaceAll('N-1', 'O-1') });
    expect(await bytes('B-3')).toBe(before);
  });

  it('takes no request of this tenant, and is in no list of it (GN1)', async () => {
    const { said } = await send('addActivity', `--input '{"summary":"x"}'`, 'O-1');
    expect(said).toContain('not found');
    expect(await machine.perdure('task', 'list', '--status', 'pending')).toMatchObject({
      tasks: expect.not.arrayContaining([expect.objectContaining({ id: 'O-1' })]) as unknown,
    });
  });
});
