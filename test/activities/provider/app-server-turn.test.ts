import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endLeftTurn } from '../../../activities/provider/app-server-turn';
import { findCodex } from '../../../activities/provider/codex-binary';
import { identityOf, ownIdentity } from '../../../activities/provider/process-identity';
import { readRunner, runPaths } from '../../../activities/provider/run-directory';
import { runProvider } from '../../../activities/provider/run-provider';
import { stopRun } from '../../../activities/provider/stop-run';
import type { RunOrder } from '../../../contract/activities';
import { OpenThread } from '../../helpers/app-server';
import { allProcesses, killThem } from '../../helpers/outside-view';
import { end } from '../../helpers/process';
import { createProviderHost, quietContext, THREAD, type ProviderHost } from '../../helpers/provider-host';
import { runnerEntry } from '../../helpers/runner-entry';
import { SCRIPTED_KEY, ScriptedEndpoint } from '../../helpers/scripted-endpoint';
import { until } from '../../helpers/until';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-turn-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('an attempt in an app server (CX-26)', () => {
  let codexHome: string;
  let host: ProviderHost;
  let endpoint: ScriptedEndpoint;
  let thread: OpenThread;

  const order = (script: string[], exact: Partial<RunOrder> = {}): RunOrder => ({
    ...host.order([], { policy: { sandbox: 'danger-full-access', model: null }, ...exact }),
    message: script.join('\n'),
  });
  const resume = (...script: string[]) => order(script, { mode: 'resume', threadId: thread.threadId });
  const commands = () =>
    allProcesses().filter(({ environment }) => environment.includes(`\0CODEX_THREAD_ID=${thread.threadId}\0`));
  /** A command that says by a file that it runs, and never ends. */
  function endless(name: string) {
    const begun = join(root, name);
    return { line: `@shell touch ${begun}; sleep 4242`, reached: () => until(() => existsSync(begun)) };
  }
  async function begin() {
    const held = endless('held');
    const mine = resume(held.line);
    const run = runProvider(host.deps, mine);
    await held.reached();
    return { mine, run };
  }

  beforeEach(async () => {
    codexHome = join(root, 'codex');
    mkdirSync(codexHome);
    endpoint = await ScriptedEndpoint.start(codexHome);
    const codex = findCodex({ PATH: process.env['PATH'] });
    host = createProviderHost({
      env: { PATH: process.env['PATH'], CODEX_HOME: codexHome, PERDURE_CODEX_BIN: codex, ...SCRIPTED_KEY },
      turnEntry: join(runnerEntry(), '..', 'app-server-turn.js'),
      escalation: [5_000, 1_000],
    });
    const { threadId } = await runProvider(host.deps, order(['@say begun']));
    thread = await OpenThread.open(codexHome, threadId ?? '');
  });
  afterEach(async () => {
    await thread.close();
    killThem(commands());
    await host.dispose();
    await endpoint.close();
  });

  it('ends with the thread that somebody deletes under it', async () => {
    const { mine, run } = await begin();
    await thread.delete();
    expect(await run).toMatchObject({ outcome: 'failed' });
    expect(await stopRun(host.deps, { attemptId: mine.attemptId, reason: 'user' })).toEqual({ ended: true });
    expect(commands()).toEqual([]);
  });

  it('is busy where the server hangs before it is asked for a turn, and leaves nothing to end', async () => {
    thread.server.kill('SIGSTOP');
    const mine = resume('@say mine');
    expect(await runProvider(host.deps, mine)).toMatchObject({ outcome: 'failed', code: 'THREAD_BUSY' });
    expect(await stopRun(host.deps, { attemptId: mine.attemptId, reason: 'user' })).toEqual({ ended: true });
    thread.server.kill('SIGCONT');
    expect(await thread.turns()).toHaveLength(1);
  });

  it('leaves the commands of whoever has its thread open by now', async () => {
    const { mine, run } = await begin();
    await end(thread.server);
    expect(await run).toMatchObject({ code: 'RUN_FAILED' });
    expect(commands()).toEqual([]);
    thread = await OpenThread.open(codexHome, thread.threadId);
    const theirs = endless('theirs');
    await thread.ask(theirs.line);
    await theirs.reached();
    const before = commands();
    expect(await stopRun(host.deps, { attemptId: mine.attemptId, reason: 'user' })).toEqual({ ended: true });
    expect(commands().map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid));
  });

  it('was stopped by who interrupts its turn, whatever turn follows at once (US-13)', async () => {
    const { run } = await begin();
    await thread.interrupt();
    await thread.ask('@sleep 20');
    expect(await run).toMatchObject({ outcome: 'stopped', code: 'user_stopped' });
  });

  it.each([
    ['interrupted, and goes on since', 'SIGINT', 'user_stopped'],
    ['left to die, and interrupts a turn of his own since', 'SIGKILL', 'interrupted_owner'],
  ] as const)('is judged by its own turn when somebody %s (US-13)', async (_what, signal, code) => {
    await thread.close();
    const held = endless('alone');
    const mine = resume(held.line);
    let letGo: (error: Error) => void = () => undefined;
    const cancelled = new Promise<never>((_resolve, reject) => {
      letGo = reject;
    });
    const run = runProvider({ ...host.deps, context: () => quietContext({ cancelled }) }, mine);
    await held.reached();
    letGo(new Error('the worker is gone'));
    await expect(run).rejects.toThrow('the worker is gone');
    const owner = readRunner(host.paths(mine));
    if (owner.kind !== 'found') throw new Error('no runner');
    if (signal === 'SIGKILL') process.kill(owner.value.runner.pid, signal);
    process.kill(owner.value.provider.pid, signal);
    await until(() => identityOf(owner.value.provider.pid) === undefined);
    killThem(commands());
    thread = await OpenThread.open(codexHome, thread.threadId);
    const theirs = endless('theirs');
    await thread.ask(theirs.line);
    await theirs.reached();
    if (signal === 'SIGKILL') await thread.interrupt();
    expect(await runProvider(host.deps, mine)).toMatchObject({ code });
  });

  it('was not stopped by a person where SIGTERM ended what follows its turn', async () => {
    const { mine, run } = await begin();
    const runner = readRunner(host.paths(mine));
    process.kill(runner.kind === 'found' ? runner.value.provider.pid : 0, 'SIGTERM');
    expect(await run).toMatchObject({ outcome: 'failed', code: 'killed_by_signal' });
    expect((await thread.turns())[0]).toMatchObject({ status: 'interrupted' });
    expect(commands()).toEqual([]);
  });
});

it('nothing of a turn outlives the boot that it began in', async () => {
  const env = { PATH: process.env['PATH'], CODEX_THREAD_ID: THREAD };
  const theirs = spawn('sleep', ['600'], { stdio: 'ignore', env });
  try {
    const attemptId = randomUUID();
    const paths = runPaths(root, attemptId);
    mkdirSync(paths.directory, { recursive: true });
    const former = { ...ownIdentity(), bootId: 'before', startTime: '1' };
    const appServer = { process: former, socket: join(root, 's'), threadId: THREAD, sandbox: 'read-only', model: null };
    const limits = { timeMs: 1, outputBytes: 1, escalation: [1, 1] };
    const what = { command: 'node', argv: [], cwd: root, codexHome: root, cliVersion: null };
    writeFileSync(paths.request, JSON.stringify({ attemptId, ...what, ...limits, appServer }));
    writeFileSync(paths.claim, JSON.stringify(former));
    writeFileSync(paths.turnAsked, attemptId);
    await endLeftTurn(paths, attemptId);
    expect(identityOf(theirs.pid ?? 0)).toBeDefined();
  } finally {
    await end(theirs);
  }
});
