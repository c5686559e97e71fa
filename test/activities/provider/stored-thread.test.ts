import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProvider } from '../../../activities/provider/run-provider';
import { createProviderHost, done, goodRun, say, thread, THREAD, type ProviderHost } from '../../helpers/provider-host';
import { context, prompt, storeRollout, usage } from '../../helpers/stored-rollout';
import { until } from '../../helpers/until';

const OTHER = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf611';

describe('run of a provider with what its Codex home holds', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());
  const starts = (): number => host.agentLog().filter((entry) => entry.started === true).length;

  it('is found by the mark in the Codex home when its first word was never read, with its tokens (P05)', async () => {
    const home = host.deps.env['CODEX_HOME'] ?? '';
    const attemptId = randomUUID();
    const order = host.order([{ kill: 'SIGKILL' }], { attemptId });
    storeRollout(home, { threadId: OTHER, mark: randomUUID(), lines: [prompt(), usage(900, 90)] });
    storeRollout(home, { threadId: THREAD, mark: attemptId, lines: [prompt(), usage(100, 10)] });
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ code: 'killed_by_signal', threadId: THREAD, threadUsage: { inputTokens: 100 } });
    expect(report.warnings.join()).toContain('found by the mark');
  });

  it.each([
    ['without its prompt', { lines: [] }, 'before it took the prompt'],
    ['that is empty', {}, 'cannot be resumed'],
  ])('takes no thread %s for one to go on in', async (_what, stored, warning) => {
    const attemptId = randomUUID();
    storeRollout(host.deps.env['CODEX_HOME'] ?? '', { threadId: THREAD, mark: attemptId, ...stored });
    const report = await runProvider(host.deps, host.order([{ kill: 'SIGKILL' }], { attemptId }));
    expect(report).toMatchObject({ code: 'killed_by_signal', threadId: null });
    expect(report.warnings.join()).toContain(warning);
  });

  it('reports the total that the rollout has when that of the events is missing or smaller (CX-18)', async () => {
    const home = host.deps.env['CODEX_HOME'] ?? '';
    const path = storeRollout(home, { threadId: THREAD, lines: [prompt(), usage(150, 15)] });
    const total = async (steps: Record<string, unknown>[]) =>
      (await runProvider(host.deps, host.order(steps))).threadUsage?.inputTokens;
    expect(await total([thread(), { exit: 1 }])).toBe(150);
    expect(await total(goodRun())).toBe(150);
    storeRollout(home, { threadId: THREAD, lines: [prompt(), usage(50, 5)] });
    expect(await total(goodRun())).toBe(100);
    rmSync(path);
    mkdirSync(path);
    const report = await runProvider(host.deps, host.order([thread(), { exit: 1 }]));
    expect(report.threadUsage).toBeNull();
    expect(report.warnings.join()).toContain('tokens of the run could not be read');
  });

  it('is refused when its thread would get a wider policy than it had, and both are named (CX-2, TD-12, P28)', async () => {
    const home = host.deps.env['CODEX_HOME'] ?? '';
    const resume = (sandbox: 'read-only' | 'workspace-write') =>
      host.order(goodRun(), { mode: 'resume', threadId: THREAD, policy: { sandbox, model: null } });
    storeRollout(home, { threadId: THREAD, lines: [context({ sandbox: 'read-only', cwd: '/elsewhere' })] });
    const refused = await runProvider(host.deps, resume('workspace-write'));
    expect(refused).toMatchObject({ outcome: 'failed', code: 'policy_widened', spawns: 0, threadId: THREAD });
    expect(refused.error).toMatch(/read-only.*workspace-write/);
    expect(starts()).toBe(0);
    const moved = resume('read-only');
    const kept = await runProvider(host.deps, moved);
    expect(kept).toMatchObject({ outcome: 'completed' });
    expect(kept.warnings.join()).toContain(`last worked in /elsewhere, and goes on in ${host.workspace}`);
    expect(readFileSync(host.paths(moved).prompt, 'utf8')).toBe(
      `${moved.message}\nThis conversation last worked in "/elsewhere"; this run works in "${host.workspace}".\n`,
    );
    storeRollout(home, { threadId: THREAD, lines: [context({ approval: 'untrusted' })] });
    expect((await runProvider(host.deps, resume('read-only'))).error).toMatch(/untrusted.*never/);
  });

  it('is refused when the recorded home of its thread is gone, and both homes are named (P27)', async () => {
    const order = host.order(goodRun(), { mode: 'resume', threadId: THREAD, codexHome: '/gone/home' });
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ code: 'codex_home_missing', spawns: 0, codexHome: '/gone/home' });
    expect(report.error).toContain('/gone/home');
    expect(report.error).toContain(host.deps.env['CODEX_HOME']);
  });

  it('is not started while the account is at its limit, unless it is to be; a success ends that (P26)', async () => {
    const message = 'usage_limit_reached {"resets_in_seconds":3600}';
    const limited = await runProvider(
      host.deps,
      host.order([thread(), { event: { type: 'turn.failed', error: { message } } }, { exit: 1 }]),
    );
    expect(limited).toMatchObject({ outcome: 'failed', code: 'usage_limit', spawns: 1 });
    expect(Date.parse(limited.resetsAt ?? '')).toBe(Date.parse(limited.endedAt) + 3_600_000);
    const held = await Promise.all(Array.from({ length: 5 }, () => runProvider(host.deps, host.order(goodRun()))));
    for (const report of held) {
      expect(report).toMatchObject({ code: 'usage_limit', spawns: 0, resetsAt: limited.resetsAt });
    }
    expect(starts()).toBe(1);
    const forced = await runProvider(host.deps, host.order(goodRun(), { ignoresUsageLimit: true }));
    expect(forced).toMatchObject({ outcome: 'completed', spawns: 1 });
    expect(await runProvider(host.deps, host.order(goodRun()))).toMatchObject({ outcome: 'completed' });
  });

  it('is held to the limit of who was logged in when it was made, whoever is when it is read (P26)', async () => {
    const logIn = (id: string) => {
      const auth = JSON.stringify({ tokens: { account_id: id } });
      writeFileSync(join(host.deps.env['CODEX_HOME'] ?? '', 'auth.json'), auth);
    };
    logIn('first');
    const message = 'usage_limit_reached {"resets_in_seconds":3600}';
    const failing = [thread(), { event: { type: 'turn.failed', error: { message } } }, { exit: 1 }];
    const limited = host.order(failing);
    await runProvider(host.deps, limited);
    // As a worker reads it that comes back only now.
    rmSync(join(host.deps.home, 'accounts'), { recursive: true });
    logIn('second');
    expect(await runProvider(host.deps, limited)).toMatchObject({ code: 'usage_limit', spawns: 1 });
    expect(await runProvider(host.deps, host.order(goodRun()))).toMatchObject({ outcome: 'completed' });
    logIn('first');
    expect(await runProvider(host.deps, host.order(goodRun()))).toMatchObject({ code: 'usage_limit', spawns: 0 });
  });

  it('is tried alone after the reset, the others follow once the model answered (P26)', async () => {
    const message = 'usage_limit_reached {"resets_in_seconds":3600}';
    await runProvider(
      host.deps,
      host.order([thread(), { event: { type: 'turn.failed', error: { message } } }, { exit: 1 }]),
    );
    const deps = { ...host.deps, now: () => Date.now() + 3_700_000 };
    const probing = runProvider(
      deps,
      host.order([thread(), { sleep: 1_500 }, say('an answer'), { sleep: 1_500 }, done()]),
    );
    await until(() => starts() === 2);
    const others = await Promise.all([1, 2, 3].map(() => runProvider(deps, host.order(goodRun()))));
    expect(others.map(({ code, spawns }) => [code, spawns])).toEqual(Array(3).fill(['usage_limit', 0]));
    await until(async () => (await runProvider(deps, host.order(goodRun()))).outcome === 'completed');
    expect(await probing).toMatchObject({ outcome: 'completed' });
  });
});
