import { randomUUID } from 'node:crypto';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isSameProcess } from '../../../activities/provider/process-identity';
import { probeRun } from '../../../activities/provider/probe-run';
import { readRunner } from '../../../activities/provider/run-directory';
import { runProvider } from '../../../activities/provider/run-provider';
import { stopRun } from '../../../activities/provider/stop-run';
import { threadHolder } from '../../../activities/provider/thread-lock';
import { createProviderHost, goodRun, thread, THREAD, type ProviderHost } from '../../helpers/provider-host';
import { until } from '../../helpers/until';

describe('stop of a run', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());
  const probe = (attemptId: string) => probeRun(host.deps, { attemptId, threadId: null, codexHome: null });

  it('of an attempt that never began ends it before it can begin (US-3)', async () => {
    const order = host.order(goodRun());
    expect(await stopRun(host.deps, { attemptId: order.attemptId, reason: 'user' })).toEqual({ ended: true });
    expect(await runProvider(host.deps, order)).toMatchObject({ outcome: 'stopped', spawns: 0 });
    expect(host.agentLog()).toEqual([]);
  });

  it('says ended only when the whole tree is gone; a second stop answers alike (US-10)', async () => {
    const order = host.order([{ ignore: ['SIGINT', 'SIGTERM'] }, thread(), { daemon: 600 }, { sleep: 600_000 }]);
    const run = runProvider(host.deps, order);
    const daemon = await until(() => host.agentLog().find((entry) => entry.daemon !== undefined)?.daemon);
    expect((await probe(order.attemptId)).liveness).toBe('alive');
    const stop = { attemptId: order.attemptId, reason: 'user' } as const;
    expect(await stopRun(host.deps, stop)).toEqual({ ended: true });
    expect(identityOf(daemon)).toBeUndefined();
    expect(await stopRun(host.deps, stop)).toEqual({ ended: true });
    expect(await run).toMatchObject({
      outcome: 'stopped',
      code: 'user_stopped',
      threadId: THREAD,
      exit: { forced: true },
    });
    expect((await probe(order.attemptId)).liveness).toBe('dead');
  });

  it('ends the provider of a runner that hangs (US-10)', async () => {
    const order = host.order([thread(), { sleep: 600_000 }]);
    const run = runProvider(host.deps, order);
    const { runner, provider } = await until(() => {
      const record = readRunner(host.paths(order));
      return record.kind === 'found' && record.value;
    });
    process.kill(runner.pid, 'SIGSTOP');
    expect(await stopRun(host.deps, { attemptId: order.attemptId, reason: 'user' })).toEqual({ ended: true });
    expect(isSameProcess(provider)).toBe('dead');
    expect(await run).toMatchObject({ outcome: 'stopped', spawns: 1 });
  });
});

describe('probe of a run', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());

  it('is dead, with evidence, when the host knows nothing of it', async () => {
    const report = await probeRun(host.deps, { attemptId: randomUUID(), threadId: null, codexHome: null });
    expect(report.liveness).toBe('dead');
    expect(report.evidence).toContain('no run directory on this host');
  });

  it('is unknown when the claim cannot be read', async () => {
    const order = host.order([]);
    const paths = host.paths(order);
    mkdirSync(paths.directory, { recursive: true });
    writeFileSync(paths.claim, '{"pid":');
    const report = await probeRun(host.deps, { attemptId: order.attemptId, threadId: null, codexHome: null });
    expect(report.liveness).toBe('unknown');
  });

  it('is alive while a marked process lives, whatever the files say (DF-17)', async () => {
    const { attemptId } = host.order([]);
    const env = { PATH: process.env['PATH'], PERDURE_ATTEMPT_ID: attemptId };
    const child = spawn('sleep', ['600'], { stdio: 'ignore', env });
    await until(
      async () => (await probeRun(host.deps, { attemptId, threadId: null, codexHome: null })).liveness === 'alive',
    );
    child.kill('SIGKILL');
    await until(
      async () => (await probeRun(host.deps, { attemptId, threadId: null, codexHome: null })).liveness === 'dead',
    );
  });

  const hasFlock = process.platform === 'linux' && execFileSync('sh', ['-c', 'command -v flock || true']).length > 0;
  (hasFlock ? it : it.skip)('is alive while a process holds the writer lock of the thread', async () => {
    const codexHome = join(host.workspace, 'codex');
    const lock = join(codexHome, 'thread-writer-locks', `${THREAD}.lock`);
    mkdirSync(join(codexHome, 'thread-writer-locks'), { recursive: true });
    writeFileSync(lock, '');
    expect(threadHolder(codexHome, THREAD)).toBeNull();
    const holder = spawn('flock', ['-x', lock, 'sleep', '600'], { stdio: 'ignore', detached: true });
    try {
      await until(() => threadHolder(codexHome, THREAD) !== null);
      const report = await probeRun(host.deps, { attemptId: randomUUID(), threadId: THREAD, codexHome });
      expect(report.liveness).toBe('alive');
    } finally {
      if (holder.pid !== undefined) process.kill(-holder.pid, 'SIGKILL');
    }
  });
});
