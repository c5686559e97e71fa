import { mkdirSync, writeFileSync } from 'node:fs';
import { DevServer } from '../helpers/dev-server';
import { Machine, type Answer } from '../helpers/machine';

// No worker runs here: what is refused is refused before anything is asked of one.
let server: DevServer;
let machine: Machine;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  writeFileSync(machine.home.file('plain-file'), '');
  mkdirSync(machine.home.file('no-repository'));
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

/** Everything that the server ever stored. */
async function stored(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of server.client.workflow.list()) ids.push(workflowId);
  return ids;
}

async function expectRefused(answer: Answer, refusal: { status: number; code: string }): Promise<void> {
  expect(answer).toMatchObject({ success: false, ...refusal, hint: expect.any(String), error: expect.any(String) });
  expect(await stored()).toEqual([]);
}

describe('perdure task create', () => {
  it.each([
    ['a slash', 'a/b'],
    ['nothing but dots', '..'],
    ['dots that lead up', 'a..b'],
    ['a bell', 'a\u0007b'],
    ['a line end', 'a\nb'],
    ['an escape of C1', 'a\u009bb'],
    ['129 characters', 'x'.repeat(129)],
    ['no character', ''],
    ['a blank at its end', 'a '],
    ['a dash first', '-a'],
  ])('stores nothing for an id with %s', async (_what, id) => {
    const answer = await machine.perdure('task', 'create', '--title', 'x', `--id=${id}`);
    await expectRefused(answer, { status: 1, code: 'INVALID_ARGUMENT' });
  });

  it('stores nothing for an unknown flag', async () => {
    const answer = await machine.perdure('task', 'create', '--title', 'x', '--bogus');
    await expectRefused(answer, { status: 2, code: 'USAGE' });
  });
});

describe('perdure run', () => {
  it.each([
    ['a title of 1,001 characters', 'INVALID_ARGUMENT', ['--title', 'x'.repeat(1_001)]],
    ['a blank title', 'INVALID_ARGUMENT', ['--title', ' \t']],
    ['a due date that is none', 'USAGE', ['--title', 'x', '--due', 'tomorrow']],
    ['an unknown agent', 'AGENT_NOT_FOUND', ['--title', 'x', '--agent', 'nobody']],
    ['a missing workspace', 'workspace_missing', ['--title', 'x', '--workspace', 'nothing-here']],
    ['a file as workspace', 'WORKSPACE_NOT_DIRECTORY', ['--title', 'x', '--workspace', '../plain-file']],
    ['a workspace below a file', 'WORKSPACE_NOT_DIRECTORY', ['--title', 'x', '--workspace', '../plain-file/x']],
    ['a workspace without git', 'WORKSPACE_NOT_GIT', ['--title', 'x', '--workspace', '../no-repository']],
    ['attempts in a row that nothing could prove', 'invalid_criteria', ['--title', 'x', '--attempts', '4']],
    ['supervision that nothing could prove', 'invalid_criteria', ['--title', 'x', '--supervise']],
    ['the same by itself', 'invalid_criteria', ['--title', 'x', '--supervise', '--auto', '--depends-on', 'B-none']],
    ['the same in a project', 'invalid_criteria', ['--title', 'x', '--tokens', '9', '--meta', 'projectId=p']],
    ['a time limit below its bound', 'USAGE', ['--title', 'x', '--time-limit', '999ms']],
    ['a time limit above its bound', 'USAGE', ['--title', 'x', '--time-limit', '8d']],
  ])('stores nothing for %s: %s', async (_what, code, options) => {
    await expectRefused(await machine.perdure('run', '--id', 'B-1', ...options), {
      status: code === 'USAGE' ? 2 : 1,
      code,
    });
  });

  it('leaves no task behind that could be shown', async () => {
    await expectRefused(await machine.perdure('task', 'show', 'B-1'), { status: 4, code: 'TASK_NOT_FOUND' });
  });

  it('stores nothing for a description of more than 256 KiB, counted in bytes', async () => {
    const args = ['run', '--title', 'x', '--id', 'B-2', '--description', '-'];
    const answer = await machine.begin(args, { stdin: 'ä'.repeat(128 * 1024 + 1) });
    await expectRefused(answer, { status: 1, code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['a NUL character', 'a\u0000b'],
    ['3 MB', 'x'.repeat(3_000_000)],
  ])('stores nothing for a description of %s (GN9)', async (_what, stdin) => {
    const answer = await machine.begin(['run', '--title', 'x', '--id', 'B-2', '--description', '-'], { stdin });
    await expectRefused(answer, { status: 1, code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['a dependency', '--depends-on'],
    ['a parent', '--parent'],
  ])('stores nothing for %s that is not there (PD10)', async (_what, option) => {
    const answer = await machine.perdure('run', '--title', 'x', option, 'B-none');
    await expectRefused(answer, { status: 1, code: 'INVALID_ARGUMENT' });
  });

  it('stores nothing for a tenant that can be none', async () => {
    const answer = await machine.begin(['run', '--title', 'x'], { env: { PERDURE_TENANT: 'a/b' } });
    await expectRefused(answer, { status: 1, code: 'INVALID_ARGUMENT' });
  });

  it('stores nothing for an unknown flag', async () => {
    await expectRefused(await machine.perdure('run', '--title', 'x', '--bogus'), { status: 2, code: 'USAGE' });
  });

  it.each([
    ['is nowhere', 'nothing-here'],
    ['is a directory', 'no-repository'],
    ['is not executable', 'plain-file'],
  ])('stores nothing when its Codex %s', async (_what, name) => {
    const env = { PERDURE_CODEX_BIN: machine.home.file(name) };
    const answer = await machine.begin(['run', '--title', 'x', '--id', 'B-3'], { env });
    await expectRefused(answer, { status: 1, code: 'executable_unavailable' });
  });
});

describe('a task that is not there', () => {
  it.each([
    ['dispatch', ['dispatch', 'B-none']],
    ['stop', ['stop', 'B-none']],
    ['note', ['task', 'note', 'B-none', 'text']],
    ['complete', ['task', 'complete', 'B-none', '--result', 'r']],
    ['reopen', ['task', 'reopen', 'B-none']],
    ['decide', ['decide', 'B-none', 'accept']],
  ])('answers exit code 4 to %s', async (_name, args) => {
    await expectRefused(await machine.perdure(...args), { status: 4, code: 'TASK_NOT_FOUND' });
  });
});

describe('a server that is not there', () => {
  it('answers exit code 3 to a run', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const answer = await machine.begin(['run', '--title', 'x'], { env });
    await expectRefused(answer, { status: 3, code: 'TEMPORAL_UNREACHABLE' });
  });
});

describe('input at its bounds', () => {
  it('is taken: an id of 128 characters, a title of 1,000, a description of 256 KiB', async () => {
    const id = '字'.repeat(128);
    const args = ['task', 'create', '--id', id, '--title', '題'.repeat(1_000), '--description', '-'];
    expect(await machine.begin(args, { stdin: 'ä'.repeat(128 * 1024) })).toMatchObject({ status: 0, success: true });
    expect(await stored()).toEqual([`task/default/${id}`]);
  });
});

describe('an id of another tenant', () => {
  it('answers as if it were absent (GN1)', async () => {
    const env = { PERDURE_TENANT: 'other' };
    await machine.begin(['task', 'create', '--id', 'O-1', '--title', 'x'], { env });
    const ids = await stored();
    for (const args of [['task', 'show'], ['why'], ['stop'], ['dispatch']]) {
      expect(await machine.perdure(...args, 'O-1')).toMatchObject({ status: 4, code: 'TASK_NOT_FOUND' });
    }
    const related = await machine.perdure('task', 'create', '--title', 'x', '--depends-on', 'O-1');
    expect(related).toMatchObject({ status: 1, code: 'INVALID_ARGUMENT' });
    expect(await stored()).toEqual(ids);
  });
});
