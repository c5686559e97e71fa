import { CancelledFailure } from '@temporalio/common';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { markedProcesses } from '../../../activities/provider/marked-processes';
import { identityOf, isSameProcess, type ProcessIdentity } from '../../../activities/provider/process-identity';
import { probeRun } from '../../../activities/provider/probe-run';
import { readRunner, type RunnerRecord } from '../../../activities/provider/run-directory';
import { runProvider } from '../../../activities/provider/run-provider';
import { stopRun } from '../../../activities/provider/stop-run';
import type { RunOrder } from '../../../contract/activities';
import {
  createProviderHost,
  done,
  quietContext,
  say,
  thread,
  THREAD,
  type ProviderHost,
} from '../../helpers/provider-host';
import { until } from '../../helpers/until';

const FOREVER = { sleep: 600_000 };

describe('an attempt that loses a process', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());

  const starts = (): number => host.agentLog().filter((entry) => entry.started === true).length;
  const kill = (identity: ProcessIdentity): boolean => process.kill(identity.pid, 'SIGKILL');
  async function running(order: RunOrder): Promise<RunnerRecord> {
    await until(() => starts() > 0);
    return until(() => {
      const record = readRunner(host.paths(order));
      return record.kind === 'found' && record.value;
    });
  }

  it('goes on under the follower when the runner is killed, to its honest end (DF row 3)', async () => {
    const order = host.order([thread(), { sleep: 2_500 }, say('outlived'), done()]);
    const run = runProvider(host.deps, order);
    const { runner } = await running(order);
    kill(runner);
    const report = await run;
    expect(report).toMatchObject({ outcome: 'completed', exit: null, observation: { text: 'outlived' }, spawns: 1 });
    expect(report.warnings).toContain('the runner died before it could record an exit');
    expect(starts()).toBe(1);
  });

  it('is interrupted_owner when runner and provider are killed, and is never started again (DF row 5)', async () => {
    const order = host.order([thread(), say('half a thought'), FOREVER]);
    const run = runProvider(host.deps, order);
    const { runner, provider } = await running(order);
    await until(() => readFileSync(host.paths(order).stdout, 'utf8').includes('half a thought'));
    kill(runner);
    kill(provider);
    const expected = {
      outcome: 'interrupted_owner',
      code: 'interrupted_owner',
      threadId: THREAD,
      exit: null,
      spawns: 1,
    };
    expect(await run).toMatchObject({ ...expected, observation: { text: 'half a thought' } });
    expect(await runProvider(host.deps, order)).toMatchObject(expected);
    expect(starts()).toBe(1);
  });

  it('has its strays ended when the runner died and then the provider', async () => {
    const order = host.order([thread(), { daemon: 600 }, FOREVER]);
    const run = runProvider(host.deps, order);
    const { runner, provider } = await running(order);
    const daemon = await until(() => host.agentLog().find((entry) => entry.daemon !== undefined)?.daemon);
    kill(runner);
    kill(provider);
    expect(await run).toMatchObject({ outcome: 'interrupted_owner' });
    expect(identityOf(daemon)).toBeUndefined();
  });

  it('has its strays ended when the runner died before it knew the provider, and the provider too (DF row 3)', async () => {
    const order = host.order([thread(), { stray: 600 }, FOREVER]);
    const run = runProvider(host.deps, order);
    const { runner, provider } = await running(order);
    const daemon = await until(() => host.agentLog().find((entry) => entry.daemon !== undefined)?.daemon);
    kill(runner);
    rmSync(host.paths(order).runner);
    await sleep(1_500);
    expect(isSameProcess(provider)).toBe('alive');
    kill(provider);
    expect(await run).toMatchObject({ outcome: 'interrupted_owner', threadId: THREAD, spawns: 1 });
    expect(identityOf(daemon)).toBeUndefined();
    expect(starts()).toBe(1);
  });

  it('can still be stopped when the runner is dead (US-4)', async () => {
    const order = host.order([{ ignore: ['SIGINT', 'SIGTERM'] }, thread(), { daemon: 600 }, FOREVER]);
    const run = runProvider(host.deps, order);
    const { runner, provider } = await running(order);
    await until(() => host.agentLog().some((entry) => entry.daemon !== undefined));
    kill(runner);
    expect(await stopRun(host.deps, { attemptId: order.attemptId, reason: 'user' })).toEqual({ ended: true });
    expect(isSameProcess(provider)).toBe('dead');
    expect(await run).toMatchObject({ outcome: 'stopped', code: 'user_stopped', spawns: 1 });
  });

  it('keeps its time limit when the runner is dead (DW-13)', async () => {
    const limits = { timeMs: 3_000, inactivityMs: 60_000, startMs: 60_000, outputBytes: 1_000_000 };
    const order = host.order([thread(), FOREVER], { limits });
    const run = runProvider(host.deps, order);
    const { runner, provider } = await running(order);
    kill(runner);
    expect(await run).toMatchObject({ outcome: 'failed', code: 'time_budget' });
    expect(isSameProcess(provider)).toBe('dead');
  });

  it('is handed over at once by a worker that shuts down, the provider untouched (DW-14)', async () => {
    const order = host.order([thread(), { sleep: 1_500 }, say('adopted'), done()]);
    let cancel: (error: Error) => void = () => undefined;
    const cancelled = new Promise<never>((_resolve, reject) => {
      cancel = reject;
    });
    const context = () => quietContext({ cancelled, isShuttingDown: () => true });
    const run = runProvider({ ...host.deps, context }, order);
    const { provider } = await running(order);
    cancel(new CancelledFailure('WORKER_SHUTDOWN'));
    await expect(run).rejects.toMatchObject({
      type: 'detached',
      nonRetryable: false,
      nextRetryDelay: expect.anything(),
    });
    expect(isSameProcess(provider)).toBe('alive');
    expect(readdirSync(join(host.deps.home, 'followers'))).toEqual([]);
    expect(await runProvider(host.deps, order)).toMatchObject({
      outcome: 'completed',
      observation: { text: 'adopted' },
    });
    expect(starts()).toBe(1);
  });

  it('is let go of when the workflow cancels the activity: detaching is not stopping (US-12)', async () => {
    const order = host.order([thread(), FOREVER]);
    let cancel: (error: Error) => void = () => undefined;
    const cancelled = new Promise<never>((_resolve, reject) => {
      cancel = reject;
    });
    const run = runProvider({ ...host.deps, context: () => quietContext({ cancelled }) }, order);
    const { provider } = await running(order);
    cancel(new CancelledFailure('CANCELLED'));
    await expect(run).rejects.toBeInstanceOf(CancelledFailure);
    expect(isSameProcess(provider)).toBe('alive');
    expect((await probeRun(host.deps, { attemptId: order.attemptId, threadId: null, codexHome: null })).liveness).toBe(
      'alive',
    );
  });

  it('is adopted, never started again, when somebody deletes its claim in mid-run', async () => {
    const order = host.order([thread(), { sleep: 1_500 }, say('once'), done()]);
    const run = runProvider(host.deps, order);
    await running(order);
    rmSync(host.paths(order).claim);
    expect(await runProvider(host.deps, order)).toMatchObject({ outcome: 'completed', spawns: 1 });
    expect(await run).toMatchObject({ outcome: 'completed', spawns: 1 });
    expect(starts()).toBe(1);
  });

  it('is not started again while it runs when somebody deletes its whole directory', async () => {
    const order = host.order([thread(), { sleep: 1_500 }, say('once'), done()]);
    const first = runProvider(host.deps, order).catch(() => undefined);
    const { provider } = await running(order);
    rmSync(host.paths(order).directory, { recursive: true });
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ outcome: 'interrupted_owner', warnings: ['its run directory was deleted'] });
    expect(isSameProcess(provider)).toBe('dead');
    expect(starts()).toBe(1);
    await first;
  });

  it('keeps a provider that dropped its mark when the runner is killed', async () => {
    const script = join(host.workspace, 'markless');
    const event = (value: object) => `echo '${JSON.stringify(value)}'`;
    const start = event({ type: 'thread.started', thread_id: THREAD });
    const inner = `${start}; sleep 4; ${event({ type: 'turn.completed' })}`;
    writeFileSync(script, `#!/bin/sh\ncat > inner <<'END'\n${inner}\nEND\nexec env -i PATH="$PATH" sh inner\n`);
    chmodSync(script, 0o700);
    const order = host.order([]);
    const run = runProvider({ ...host.deps, env: { ...host.deps.env, PERDURE_CODEX_BIN: script } }, order);
    const { runner, provider } = await until(() => {
      const record = readRunner(host.paths(order));
      return record.kind === 'found' && record.value;
    });
    await sleep(500);
    expect(markedProcesses('PERDURE_ATTEMPT_ID', order.attemptId)).toEqual([]);
    kill(runner);
    await sleep(2_000);
    expect(isSameProcess(provider)).toBe('alive');
    expect(await run).toMatchObject({ outcome: 'completed', spawns: 1 });
  });
});
