import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProvider } from '../../../activities/provider/run-provider';
import { requestStop } from '../../../activities/provider/run-directory';
import type { RunHeartbeat } from '../../../activities/provider/provider-deps';
import {
  createProviderHost,
  done,
  goodRun,
  quietContext,
  say,
  thread,
  THREAD,
  type ProviderHost,
} from '../../helpers/provider-host';
import { until } from '../../helpers/until';

const OTHER = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf611';
const FOREVER = { sleep: 600_000 };

describe('run of a provider', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());
  const starts = (): number => host.agentLog().filter((entry) => entry.started === true).length;

  it('reports what became of it', async () => {
    const order = host.order(goodRun('grüße'));
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({
      outcome: 'completed',
      code: null,
      error: null,
      threadId: THREAD,
      codexHome: host.deps.env['CODEX_HOME'],
      workspacePath: host.workspace,
      cliVersion: null,
      observation: { text: 'grüße', bytes: 7 },
      threadUsage: { inputTokens: 100, cachedInputTokens: 5, outputTokens: 10 },
      exit: { code: 0, signal: null, forced: false },
      spawns: 1,
      strays: 0,
      warnings: [],
    });
    const wallMs = Date.parse(report.endedAt) - Date.parse(report.startedAt ?? '');
    expect(wallMs).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(report.ranMs)).toBe(true);
    expect(report.ranMs).toBeLessThanOrEqual(wallMs + 1);
  });

  it('has no secret in a report that it was asked for, which stays one (SE-4)', async () => {
    const secret = 'pa"ss\\word-1234567';
    const env = { ...host.deps.env, CODEX_API_KEY: secret };
    const text = JSON.stringify({ summary: `it is ${secret}`, note: '"PERDURE_TOKEN=changeme"' });
    const order = { ...host.order(goodRun(text)), report: 'checkpoint' as const };
    const { observation } = await runProvider({ ...host.deps, env }, order);
    expect(JSON.parse(observation?.text ?? '')).toEqual({
      summary: 'it is [redacted]',
      note: '"PERDURE_TOKEN=[redacted]"',
    });
  });

  it('starts the provider once, however often it is called with one attempt (DF-6, DW-18, SR13 (P))', async () => {
    const order = host.order([thread(), { sleep: 300 }, say('once'), done()]);
    const first = await Promise.all([1, 2, 3].map(() => runProvider(host.deps, order)));
    const again = await runProvider(host.deps, order);
    const said = [...first, again].map(({ outcome, spawns, observation }) => ({ outcome, spawns, observation }));
    const once = { outcome: 'completed', spawns: 1, observation: { text: 'once', bytes: 4 } };
    expect(said).toEqual([once, once, once, once]);
    expect(starts()).toBe(1);
  });

  it('gives the provider the prompt by stdin alone, the mark of its attempt, and its own directory (P01, P23, DF-17)', async () => {
    const order = host.order(goodRun());
    await runProvider(host.deps, order);
    const [entry] = host.agentLog();
    expect(entry?.argv?.slice(0, 5)).toEqual(['exec', '-C', host.workspace, '-s', 'workspace-write']);
    expect(entry?.argv?.join(' ')).not.toContain('thread.started');
    expect(entry?.env).toEqual(expect.arrayContaining(['PERDURE_ATTEMPT_ID', 'CODEX_HOME', 'PATH']));
    expect(entry?.env?.filter((name) => /^(PERDURE|TEMPORAL)_/.test(name))).toEqual(['PERDURE_ATTEMPT_ID']);
    expect(entry?.['cwd']).toBe(host.workspace);
  });

  it('leaves files that only their owner can read, and no secret in the request (DW-15)', async () => {
    const { env } = host.deps;
    const order = host.order(goodRun());
    await runProvider({ ...host.deps, env: { ...env, OPENAI_API_KEY: 'a-secret-value' } }, order);
    const { directory, request } = host.paths(order);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o077).toBe(0);
    expect(readFileSync(request, 'utf8')).not.toContain('a-secret-value');
    expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('keeps the whole of a long observation beside a bounded one, cut on a character edge (SR17 (P))', async () => {
    const order = host.order(goodRun('€'.repeat(20_000)));
    const { observation } = await runProvider(host.deps, order);
    expect(observation).toMatchObject({ bytes: 60_000, ref: `run:host-1/${order.attemptId}/last-message.txt` });
    expect(observation?.text).toBe('€'.repeat(10_922));
    expect(readFileSync(host.paths(order).lastMessage, 'utf8')).toHaveLength(20_000);
  });

  it('takes the result behind a 12 MB line, and says that a line was dropped (P14)', async () => {
    const order = host.order([thread(), { fill: 12_000_000, print: '\n' }, say('FINAL-OK'), done()]);
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ outcome: 'completed', observation: { text: 'FINAL-OK' } });
    expect(report.warnings.join()).toContain('1 lines of the output were longer');
  });

  it('ends a provider that goes beyond its output limit (P14)', async () => {
    const limits = { timeMs: 60_000, inactivityMs: 60_000, startMs: 60_000, outputBytes: 1_000_000 };
    const order = host.order([thread(), { fill: 5_000_000 }, FOREVER], { limits });
    expect(await runProvider(host.deps, order)).toMatchObject({
      outcome: 'failed',
      code: 'output_limit',
      threadId: THREAD,
    });
  });

  it('ends a provider that falls silent, and keeps its thread (P05)', async () => {
    const limits = { timeMs: 60_000, inactivityMs: 1_000, startMs: 60_000, outputBytes: 1_000_000 };
    const order = host.order([thread(), { event: { type: 'error', message: 'E-CANARY' } }, FOREVER], { limits });
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ outcome: 'failed', code: 'inactive', threadId: THREAD });
    expect(report.error).toContain('E-CANARY');
  });

  it('ends a provider that begins no thread (P30)', async () => {
    const limits = { timeMs: 60_000, inactivityMs: 60_000, startMs: 1_000, outputBytes: 1_000_000 };
    const order = host.order([FOREVER], { limits });
    expect(await runProvider(host.deps, order)).toMatchObject({
      outcome: 'failed',
      code: 'start_deadline',
      threadId: null,
    });
  });

  it('takes nothing from a run of another thread (CX-16)', async () => {
    const order = host.order([thread(OTHER), say('foreign'), done()], { mode: 'resume', threadId: THREAD });
    expect(await runProvider(host.deps, order)).toMatchObject({
      outcome: 'failed',
      code: 'thread_mismatch',
      threadId: THREAD,
      observation: null,
      threadUsage: null,
    });
  });

  it.each([
    ['executable_unavailable', { env: { PATH: '', PERDURE_CODEX_BIN: '/nowhere/codex' } }, {}],
    ['session_not_found', {}, { mode: 'resume', threadId: '--last' } as const],
    [
      'workspace_missing',
      {
        workspaces: {
          ensure: () => Promise.reject(Object.assign(new Error('gone'), { code: 'workspace_missing' })),
          digestOf: () => Promise.resolve(null),
        },
      },
      {},
    ],
  ])('is refused with %s before anything is started', async (code, deps, exact) => {
    const order = host.order(goodRun(), exact);
    const report = await runProvider({ ...host.deps, ...deps }, order);
    expect(report).toMatchObject({ outcome: 'failed', code, spawns: 0, exit: null });
    expect(existsSync(host.paths(order).claim)).toBe(false);
    expect(starts()).toBe(0);
  });

  it('lets a silent tool run beyond the inactivity limit, and no silence without one (P105 A, B)', async () => {
    const limits = { timeMs: 60_000, inactivityMs: 1_000, startMs: 60_000, outputBytes: 1_000_000 };
    const tool = (type: string) => ({ event: { type, item: { id: 'item_1', type: 'command_execution' } } });
    const silent = { sleep: 3_000 };
    const open = host.order([thread(), tool('item.started'), silent, tool('item.completed'), done()], { limits });
    const closed = host.order([thread(), tool('item.started'), tool('item.completed'), silent, done()], { limits });
    const reports = await Promise.all([open, closed].map((order) => runProvider(host.deps, order)));
    expect(reports.map(({ code }) => code)).toEqual([null, 'inactive']);
  });

  it('ends soon after a final error that nothing follows, with its words (P06)', async () => {
    const limits = { timeMs: 60_000, inactivityMs: 10_000, startMs: 60_000, outputBytes: 1_000_000 };
    const order = host.order([thread(), { event: { type: 'error', message: 'E-CANARY' } }, { sleep: 8_000 }], {
      limits,
    });
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ code: 'inactive', threadId: THREAD });
    expect(report.error).toContain('E-CANARY');
  });

  it('is started once, with signs of life, while its workspace takes long to make; a stop works then (P89)', async () => {
    const beats: RunHeartbeat[] = [];
    let open: (() => void) | undefined;
    const made = new Promise<void>((resolve) => {
      open = resolve;
    });
    const deps = {
      ...host.deps,
      workspaces: { ensure: () => made.then(() => host.workspace), digestOf: () => Promise.resolve(null) },
      context: () => quietContext({ heartbeat: (details) => beats.push(details) }),
    };
    const [order, stopped] = [host.order(goodRun()), host.order(goodRun())];
    const runs = [1, 2, 3].map(() => runProvider(deps, order));
    const stopping = runProvider(deps, stopped);
    await until(() => beats.length > 3);
    requestStop(host.paths(stopped), 'user');
    expect(starts()).toBe(0);
    open?.();
    expect((await Promise.all(runs)).map(({ outcome, spawns }) => [outcome, spawns])).toEqual(
      Array(3).fill(['completed', 1]),
    );
    expect(await stopping).toMatchObject({ outcome: 'stopped', spawns: 0 });
    expect(starts()).toBe(1);
  });

  it('is stopped before it begins by a stop that came first (US-3)', async () => {
    const order = host.order(goodRun());
    await runProvider({ ...host.deps, env: { PERDURE_CODEX_BIN: '/nowhere' } }, order);
    requestStop(host.paths(order), 'user');
    expect(await runProvider(host.deps, order)).toMatchObject({ outcome: 'stopped', code: 'user_stopped', spawns: 0 });
    expect(starts()).toBe(0);
  });

  it('heartbeats where it is', async () => {
    const beats: RunHeartbeat[] = [];
    const context = () => quietContext({ heartbeat: (details) => beats.push(details) });
    const tool = { event: { type: 'item.started', item: { id: 'item_1', type: 'command_execution' } } };
    const order = host.order([thread(), tool, { sleep: 3_000 }, done()]);
    await runProvider({ ...host.deps, context }, order);
    expect(beats.at(-1)).toMatchObject({ threadId: THREAD, toolRunning: true });
    expect(beats.at(-1)?.offset).toBeGreaterThan(50);
  });

  it('bears a torn exit record and files that are not its own', async () => {
    const order = host.order(goodRun());
    await runProvider(host.deps, order);
    const paths = host.paths(order);
    writeFileSync(paths.exit, '{"code":0,');
    const report = await runProvider(host.deps, order);
    expect(report).toMatchObject({ outcome: 'completed', exit: null, spawns: 1 });
    expect(report.warnings.join()).toContain('exit record cannot be read');
    expect(starts()).toBe(1);
  });

  it('refuses an attempt id that is no UUID', async () => {
    const order = host.order([], { attemptId: '../../etc' });
    await expect(runProvider(host.deps, order)).rejects.toMatchObject({ type: 'INVALID_ARGUMENT', nonRetryable: true });
  });
});
