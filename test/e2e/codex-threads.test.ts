import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCodex } from '../../activities/provider/codex-binary';
import { findRollout } from '../../activities/provider/rollout-files';
import { lastContext } from '../../activities/provider/rollout-tail';
import { threadHolder } from '../../activities/provider/thread-lock';
import type { DevServer } from '../helpers/dev-server';
import { closeCodexMachine, openCodexMachine, runScript } from '../helpers/codex-machine';
import type { Machine } from '../helpers/machine';
import { markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';
import { replayAll } from '../helpers/replay';
import { rolloutsIn } from '../helpers/rollouts';
import { SCRIPTED_KEY, type ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

const codex = findCodex({ PATH: process.env['PATH'] });

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

async function runAgain(id: string, script: string[], ...options: string[]) {
  await machine.perdure('task', 'note', id, script.join('\n'));
  return machine.perdure('dispatch', id, '--wait', ...options);
}

/** A task whose run ended unsuccessfully in a thread that is in order; gives the thread and its rollout. */
async function begunThread(id: string, ...options: string[]) {
  const first = await run(id, ['@say begun'], '--accept', 'false', ...options);
  expect(first).toMatchObject({ code: 'CRITERIA_NOT_MET' });
  const threadId = first.threadId ?? '';
  const rollout = await findRollout(codexHome, threadId);
  return { threadId, path: rollout?.path ?? '' };
}

const environment = { ...process.env, ...SCRIPTED_KEY };
const byHand = (...args: string[]) =>
  execFileSync(codex, args, { env: { ...environment, CODEX_HOME: codexHome }, stdio: ['ignore', 'pipe', 'ignore'] });
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('the thread of a task, with the real Codex', () => {
  it('that is archived is refused until it is restored, and then goes on (P12)', async () => {
    const { threadId, path } = await begunThread('T-12');
    byHand('archive', threadId);
    const archived = (await findRollout(codexHome, threadId))?.path ?? '';
    expect(archived).toContain('archived_sessions');
    const before = digest(archived);
    await machine.perdure('task', 'list', '--thread', threadId);
    const refused = await machine.perdure('dispatch', 'T-12', '--wait');
    expect(refused).toMatchObject({ code: 'thread_archived', threadId });
    expect(digest(archived)).toBe(before);
    byHand('unarchive', threadId);
    expect(existsSync(path)).toBe(true);
    expect(await runAgain('T-12', ['@say went on'])).toMatchObject({ success: true, threadId });
  });

  it('whose rollout is gone is not begun anew by itself, only by an explicit request (P11)', async () => {
    const { threadId, path } = await begunThread('T-11');
    rmSync(path);
    expect(await machine.perdure('dispatch', 'T-11', '--wait')).toMatchObject({ code: 'session_not_found', threadId });
    expect((await machine.attempts('T-11')).map(({ spawns }) => spawns)).toEqual([1, 1]);
    expect((await machine.attempts('T-11')).map((attempt) => attempt.threadId)).toEqual([threadId, threadId]);
    const fresh = await machine.perdure('dispatch', 'T-11', '--wait', '--replace-thread');
    expect(fresh).toMatchObject({ success: true });
    expect(fresh.threadId).not.toBe(threadId);
  });

  it('whose last record lost a field is unreadable: one attempt, and the file stays as it is (P24)', async () => {
    const { threadId, path } = await begunThread('T-24');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const { ordinal: _ordinal, ...rest } = JSON.parse(lines.pop() ?? '') as Record<string, unknown>;
    const damaged = [...lines, JSON.stringify(rest), ''].join('\n');
    writeFileSync(path, damaged);
    const refused = await machine.perdure('dispatch', 'T-24', '--wait');
    expect(refused).toMatchObject({ code: 'thread_unreadable', threadId });
    expect(await machine.attempts('T-24')).toHaveLength(2);
    expect(readFileSync(path, 'utf8')).toBe(damaged);
    // Half a line and garbage behind the last one are no obstacle to Codex.
    writeFileSync(path, `${lines.join('\n')}\n{"timestamp":"2026`);
    expect(await runAgain('T-24', ['@say went on'])).toMatchObject({ success: true, threadId });
  });

  it('that somebody holds is busy until they let go; nothing is forked and nothing begun (P32)', async () => {
    const { threadId } = await begunThread('T-32');
    const args = ['exec', 'resume', '--json', '--skip-git-repo-check', threadId, '@sleep 300'];
    const holder = spawn(codex, args, { env: { ...environment, CODEX_HOME: codexHome }, stdio: 'ignore' });
    await until(() => threadHolder(codexHome, threadId) === holder.pid);
    const threads = rolloutsIn(codexHome).length;
    const busy = await machine.perdure('dispatch', 'T-32', '--wait');
    expect(busy).toMatchObject({ success: false, code: 'THREAD_BUSY', retryable: true });
    expect(await run('T-32b', ['@say another'])).toMatchObject({ success: true });
    expect(rolloutsIn(codexHome)).toHaveLength(threads + 1);
    await end(holder);
    expect(await runAgain('T-32', ['@say went on'])).toMatchObject({ success: true, threadId });
    expect(worker.exitCode).toBeNull();
  });

  it('whose history the model refuses is unusable each time, until it is replaced (P21)', async () => {
    const { threadId } = await begunThread('T-21');
    const poison = ['@poison No tool output found for function call call_7.'];
    expect(await runAgain('T-21', poison)).toMatchObject({ code: 'thread_unusable', retryable: false, threadId });
    expect(await machine.perdure('dispatch', 'T-21', '--wait')).toMatchObject({ code: 'thread_unusable', threadId });
    expect((await machine.attempts('T-21')).map(({ spawns }) => spawns)).toEqual([1, 1, 1]);
    const fresh = await machine.perdure('dispatch', 'T-21', '--wait', '--replace-thread');
    expect(fresh).toMatchObject({ success: true });
    expect(fresh.threadId).not.toBe(threadId);
  });

  it('is resumed under the sandbox, model and place of its first run, and under no wider sandbox (P28, P10)', async () => {
    const options = ['--sandbox', 'read-only', '--model', 'gpt-5.5'];
    const { threadId, path } = await begunThread('T-28', ...options);
    const before = await lastContext(path);
    expect(await runAgain('T-28', ['@say again'])).toMatchObject({ success: true, threadId });
    expect(await lastContext(path)).toEqual(before);
    const wider = await machine.perdure('dispatch', 'T-28', '--wait', '--sandbox', 'workspace-write');
    expect(wider).toMatchObject({ code: 'policy_widened', threadId });
    expect((await machine.attempts('T-28')).map(({ spawns }) => spawns)).toEqual([1, 1, 0]);
  });

  it('works in its own workspace, or not at all when that is gone (P10)', async () => {
    const { threadId } = await begunThread('T-10');
    const [attempt] = await machine.attempts('T-10');
    const workspace = attempt?.workspacePath ?? '';
    await runAgain('T-10', ['@shell pwd > place.txt', '@say there']);
    expect(readFileSync(join(workspace, 'place.txt'), 'utf8').trim()).toBe(workspace);
    await machine.perdure('task', 'fail', 'T-10', '--reason', 'once more');
    renameSync(workspace, `${workspace}-moved`);
    const known = readdirSync(`${workspace}-moved`);
    const refused = await machine.perdure('dispatch', 'T-10', '--wait');
    expect(refused).toMatchObject({ code: 'workspace_missing', threadId });
    expect((await machine.attempts('T-10')).at(-1)).toMatchObject({ spawns: 0 });
    expect(existsSync(workspace)).toBe(false);
    expect(readdirSync(`${workspace}-moved`)).toEqual(known);
  });

  it('is each task’s own when eight are resumed at the same moment (P17)', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `T-17-${String(n)}`);
    const first = await Promise.all(
      ids.map((id) => run(id, [`the word is word-${id}`, '@say noted'], '--accept', 'false')),
    );
    const again = await Promise.all(ids.map((id) => runAgain(id, ['@say told'])));
    expect(again.map(({ threadId }) => threadId)).toEqual(first.map(({ threadId }) => threadId));
    expect(new Set(first.map(({ threadId }) => threadId)).size).toBe(8);
    for (const [n, id] of ids.entries()) {
      const seen = endpoint.requests.findLast(({ threadId }) => threadId === first[n]?.threadId)?.userMessages.join();
      const words = ids.filter((other) => seen?.includes(`word-${other}`));
      expect(words).toEqual([id]);
    }
  });
});

describe('a run of the real Codex', () => {
  it('passes every text on byte for byte, as text and never as an option (P23, P118, P01)', async () => {
    const texts = [
      '--help',
      '-c model=x',
      '-',
      '; touch PWNED\n$(touch PWNED) `touch PWNED` "quoted" %PATH% &',
      '漢'.repeat(66_000),
    ];
    for (const [n, text] of texts.entries()) {
      const id = `T-23-${String(n)}`;
      const args = ['run', '--title', '; touch PWNED', '--id', id, '--description', '-'];
      expect(await machine.begin(args, { stdin: text })).toMatchObject({ success: true, observation: 'done' });
      const seen = endpoint.requests.at(-1)?.userMessages.join('\n');
      expect(seen).toContain(text);
      const [attempt] = await machine.attempts(id);
      expect(existsSync(join(attempt?.workspacePath ?? '', 'PWNED'))).toBe(false);
    }
  });

  it('leaves no command of its own behind, and is judged after that (P29)', async () => {
    const late = '@shell (sleep 60; echo LATE > late.txt) > log.txt 2>&1 & echo started';
    const options = ['--sandbox', 'danger-full-access', '--accept', 'test -e late.txt'];
    const answer = await run('T-29', [late, '@say all tests pass'], ...options);
    expect(answer).toMatchObject({ success: false, code: 'CRITERIA_NOT_MET' });
    const [attempt] = await machine.attempts('T-29');
    expect(markedWith(attempt?.attemptId ?? '')).toEqual([]);
  });

  it('whose credentials are refused says so, and is not started again by itself (P19)', async () => {
    const body = '{"error":{"message":"Incorrect API key provided: sk-none.","code":"invalid_api_key"}}';
    const failed = await run('T-19', [`@refuse 401 ${body}`]);
    expect(failed).toMatchObject({ code: 'credentials_invalid', retryable: false });
    expect((await machine.attempts('T-19')).map(({ spawns }) => spawns)).toEqual([1]);
    // Once the login is in order, one command goes on in the same thread.
    expect(await runAgain('T-19', ['@say logged in'])).toMatchObject({ success: true, threadId: failed.threadId });
  });

  it('without a sandbox that starts is no success, and the doctor knows before (P25)', async () => {
    const wrapper = machine.home.file('without-namespaces');
    const inner = `echo 0 > /proc/sys/user/max_user_namespaces; exec '${codex}' "$@"`;
    writeFileSync(
      wrapper,
      `#!/bin/sh\nexec unshare --user --map-root-user sh -c '${inner.replaceAll("'", `'\\''`)}' sh "$@"\n`,
    );
    chmodSync(wrapper, 0o755);
    const { stdout } = await machine.read(['doctor', '--json'], { PERDURE_CODEX_BIN: wrapper });
    expect(JSON.parse(stdout)).toMatchObject({
      checks: expect.arrayContaining([expect.objectContaining({ name: 'codex sandbox', ok: false })]) as unknown,
    });
    await end(worker, 'SIGTERM');
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome, PERDURE_CODEX_BIN: wrapper });
    const answer = await run('T-25', ['@shell echo a', '@shell echo b', '@say done']);
    expect(answer).toMatchObject({ success: false, code: 'sandbox_unavailable' });
    await end(worker, 'SIGTERM');
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
  });

  it('at the usage limit says until when, and no other one of the account is started before (P26)', async () => {
    const resets = Math.floor(Date.now() / 1_000) + 3 * 86_400;
    const body = JSON.stringify({ error: { type: 'usage_limit_reached', message: 'm', resets_at: resets } });
    const limited = await run('T-26', [`@refuse 429 ${body}`], '--on-usage-limit', 'fail');
    expect(limited).toMatchObject({ code: 'usage_limit', retryable: true });
    const [name = ''] = readdirSync(machine.home.file('accounts'));
    const { until: noted } = JSON.parse(readFileSync(machine.home.file('accounts', name), 'utf8')) as { until: string };
    const late = Date.parse(noted) - resets * 1_000;
    expect(late).toBeGreaterThan(0);
    expect(late).toBeLessThanOrEqual(60_000);
    await end(worker);
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
    const held = await run('T-26b', ['@say never'], '--on-usage-limit', 'fail');
    expect(held).toMatchObject({ code: 'usage_limit' });
    expect(held.error).toContain(noted);
    expect((await machine.attempts('T-26b')).map(({ spawns }) => spawns)).toEqual([0]);
    // Unless it is told otherwise it waits, also over a restart of the worker, until somebody stops it.
    await machine.perdure('task', 'create', '--title', 'Waits', '--id', 'T-26c');
    await machine.perdure('dispatch', 'T-26c');
    const waits = async () => JSON.stringify(await machine.perdure('why', 'T-26c')).includes('"attention":"waiting"');
    await until(waits);
    await end(worker);
    worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
    expect(await waits()).toBe(true);
    expect(await machine.perdure('stop', 'T-26c')).toMatchObject({ stopped: true, taskStatus: 'interrupted' });
    expect((await machine.attempts('T-26c')).map(({ spawns }) => spawns)).toEqual([0, 0]);
  });
});

describe('the histories of all this', () => {
  it('replay', async () => {
    expect(Object.keys(await replayAll(server.client))).toContain('resumeCodex');
  });
});
