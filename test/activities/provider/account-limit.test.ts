import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccountLimit } from '../../../activities/provider/account-limit';
import { runPaths } from '../../../activities/provider/run-directory';
import type { RunReport } from '../../../contract/activities';

const T = Date.UTC(2026, 10, 29, 12);
const iso = (ms: number): string => new Date(ms).toISOString();
const HOUR = 3_600_000;

describe('the usage limit of an account (P26)', () => {
  let home: string;
  let now: number;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'perdure-account-'));
    now = T;
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });
  /** As another process would see it: nothing is kept but the files. */
  const account = (codexHome = '/h1') => new AccountLimit(home, { codexHome }, () => now);
  const report = (exact: Partial<RunReport>): RunReport => ({
    ...{ outcome: 'failed', code: 'usage_limit', error: null, threadId: null, codexHome: '/h1', workspacePath: null },
    ...{ cliVersion: null, observation: null, threadUsage: null, exit: null, startedAt: null },
    ...{ endedAt: iso(now), spawns: 1, strays: 0, warnings: [] },
    ...exact,
  });
  const conclude = (attemptId: string, exact: Partial<RunReport>) => {
    account().conclude({ attemptId }, report(exact));
  };
  const limitUntil = (until: number | null) => {
    conclude(randomUUID(), { resetsAt: until === null ? null : iso(until) });
  };

  it('lets nobody start before the reset, then one attempt alone, and the others half a minute later', () => {
    expect(account().admit(randomUUID())).toBeNull();
    limitUntil(T + HOUR);
    now = T + HOUR - 1;
    expect([1, 2, 3].map(() => account().admit(randomUUID()))).toEqual(Array(3).fill(iso(T + HOUR)));
    now = T + HOUR;
    const probe = randomUUID();
    expect(account().admit(probe)).toBeNull();
    expect(account().admit(probe)).toBeNull();
    expect([1, 2].map(() => account().admit(randomUUID()))).toEqual(Array(2).fill(iso(now + 30_000)));
    expect(account('/h2').admit(randomUUID())).toBeNull();
  });

  it('is that of who is logged in: another login of the same home has none, a fresh token of the same has it', () => {
    const codexHome = join(home, 'codex');
    mkdirSync(codexHome);
    const logIn = (login: object) => {
      writeFileSync(join(codexHome, 'auth.json'), JSON.stringify(login));
    };
    const first = { OPENAI_API_KEY: null, tokens: { account_id: 'a', access_token: 'x' } };
    logIn(first);
    account(codexHome).conclude({ attemptId: randomUUID() }, report({ resetsAt: iso(T + HOUR) }));
    logIn({ ...first, tokens: { account_id: 'a', access_token: 'y' } });
    expect(account(codexHome).admit(randomUUID())).toBe(iso(T + HOUR));
    for (const other of [
      { tokens: { account_id: 'b' } },
      { OPENAI_API_KEY: 'sk-other', tokens: null },
      { tokens: 4 },
    ]) {
      logIn(other);
      expect(account(codexHome).admit(randomUUID())).toBeNull();
    }
    logIn(first);
    expect(account(codexHome).admit(randomUUID())).toBe(iso(T + HOUR));
    expect(readdirSync(join(home, 'accounts')).join()).not.toContain('sk-other');
  });

  it('is over once the model answered the attempt that found out, and not by the answer to another', () => {
    limitUntil(T + 1);
    now = T + 2;
    const probe = randomUUID();
    account().admit(probe);
    account().answered(randomUUID());
    expect(account().admit(randomUUID())).not.toBeNull();
    account().answered(probe);
    expect([1, 2].map(() => account().admit(randomUUID()))).toEqual([null, null]);
  });

  it('holds on when the attempt that found out met it again', () => {
    limitUntil(T + 1);
    now = T + 2;
    const probe = randomUUID();
    account().admit(probe);
    conclude(probe, { resetsAt: iso(T + HOUR) });
    expect(account().admit(randomUUID())).toBe(iso(T + HOUR));
  });

  it('gives the next attempt its turn when the one that was to find out ended for another reason, or vanished', () => {
    limitUntil(T + 1);
    now = T + 2;
    const first = randomUUID();
    account().admit(first);
    conclude(first, { code: 'workspace_missing', spawns: 0 });
    const second = randomUUID();
    expect(account().admit(second)).toBeNull();
    // Its worker died before anything of it began.
    now += 59_999;
    expect(account().admit(randomUUID())).not.toBeNull();
    now += 1;
    const third = randomUUID();
    expect(account().admit(third)).toBeNull();
    const { directory, exit } = runPaths(home, third);
    mkdirSync(directory, { recursive: true });
    const ended = { code: 1, signal: null, startedAt: null, endedAt: iso(now), reason: null, stopReason: null };
    writeFileSync(exit, JSON.stringify({ ...ended, forced: false, strays: 0, spawnError: null }));
    expect(account().admit(randomUUID())).toBeNull();
    expect(readdirSync(join(home, 'accounts')).filter((name) => !/\.(json|probe)$/.test(name))).toEqual([]);
  });

  it('without a known end is left alone for five minutes', () => {
    limitUntil(null);
    expect(account().admit(randomUUID())).toBe(iso(T + 300_000));
    now = T + 300_000;
    expect(account().admit(randomUUID())).toBeNull();
  });

  it('is taken back by a success that came later, and by none that came before', () => {
    limitUntil(T + HOUR);
    conclude(randomUUID(), { outcome: 'completed', code: null, endedAt: iso(T - 1) });
    expect(account().admit(randomUUID())).not.toBeNull();
    conclude(randomUUID(), { outcome: 'completed', code: null, endedAt: iso(T + 1) });
    expect(account().admit(randomUUID())).toBeNull();
  });

  it('is not known from an old report, a refusal without a spawn, or a torn file', () => {
    conclude(randomUUID(), { resetsAt: iso(T - HOUR), endedAt: iso(T - 2 * HOUR) });
    conclude(randomUUID(), { resetsAt: iso(T + HOUR), spawns: 0 });
    expect(account().admit(randomUUID())).toBeNull();
    limitUntil(T + HOUR);
    const [name = ''] = readdirSync(join(home, 'accounts'));
    writeFileSync(join(home, 'accounts', name), '{"until":"20');
    expect(account().admit(randomUUID())).toBeNull();
  });
});
