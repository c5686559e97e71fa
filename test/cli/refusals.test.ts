import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rememberKeys } from '../../client/remembered-keys';

const main = join(__dirname, '..', '..', 'dist', 'cli', 'main.js');
let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-home-'));
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

/** Runs a command line against a server that is not there. */
function perdure(...args: string[]) {
  const env = { ...process.env, PERDURE_HOME: home, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { env, encoding: 'utf8', cwd: home });
  return { status, stdout, stderr, ms: performance.now() - began };
}

/** Asserts that stdout is exactly one JSON document. */
function json(stdout: string): unknown {
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(stdout);
}

describe('usage errors', () => {
  it.each([
    [['bogus'], 'unknown command'],
    [['rnu'], "unknown command 'rnu' (Did you mean run?)"],
    [['show', 'T-1'], "unknown command 'show' (Did you mean perdure task show?)"],
    [['cancel'], "unknown command 'cancel' (Did you mean perdure task cancel?)"],
    [['task', 'bogus'], 'unknown command'],
    [['task', 'list', '--bogus'], 'unknown option'],
    [['task', 'create'], '--title'],
    [['task', 'create', '--json', '--title'], 'argument missing'],
    [['task', 'show'], "missing required argument 'id'"],
    [['task', 'show', 'A', 'B'], 'too many arguments'],
    [['task', 'list', '--limit', 'many'], 'whole number'],
    [['task', 'list', '--status', 'review_required'], 'Allowed choices'],
    [['run', '--title', 'x', '--time-limit', '5'], 'duration'],
    [
      ['task', 'list', '--attention', 'bogus'],
      'Allowed choices are none, running, stopping, waiting, recovery, budget, outcome',
    ],
    [['run', '--title', 'x', '--time-limit', '8d'], 'between 1s and 7d'],
    [['dispatch', 'A', '--inactivity', '25h'], 'between 1s and 24h'],
    [['task', 'create', '--title', 'x', '--due', 'tomorrow'], 'like 2026-12-31T17:00:00Z'],
    [['task', 'update', 'A', '--due', 'tomorrow'], 'like 2026-12-31T17:00:00Z'],
    [['run', '--title', 'x', '--meta', 'novalue'], 'key=value'],
    [['dispatch', 'A', '--sandbox', 'none'], 'Allowed choices'],
    [['decide', 'A', 'maybe'], 'Allowed choices'],
    [['direct', 'run', '--repo', '.', '--mode', 'foo', 'x'], 'Allowed choices'],
    [['direct', 'run', '--repo', '.', '--mode', 'full-access', 'x'], 'needs --full-access'],
    [['logs', 'A', '--attempt', 'nope'], 'must be a UUID'],
    [['task', 'update', 'A'], 'at least one field'],
    [['run', '--title', 'x', '--accept', ''], 'must not be blank'],
    [['task', 'update', 'A', '--accept', ' '], 'must not be blank'],
    [['decide', 'A', 'accept', '--time-budget', '1h'], 'with --continue'],
  ])('end %j with exit code 2, a usage line and a USAGE envelope', (args, said) => {
    const { status, stdout, stderr } = perdure(...args, ...(args.includes('--json') ? [] : ['--json']));
    expect(status).toBe(2);
    expect(stderr).toContain(said);
    expect(stderr).toMatch(/^usage: perdure/m);
    expect(stderr).not.toContain('\\u{');
    expect(json(stdout)).toMatchObject({ success: false, code: 'USAGE', retryable: false });
  });

  it('print nothing on stdout without --json', () => {
    expect(perdure('task', 'list', '--bogus')).toMatchObject({ status: 2, stdout: '' });
  });

  it('do not count help and version', () => {
    expect(perdure('--help')).toMatchObject({ status: 0, stderr: '' });
    expect(perdure('task', 'create', '--help').stdout).toContain('--accept');
    expect(perdure('task', 'list', '--help').stdout).toMatch(/choices: "none",\s+"running"/);
    expect(perdure('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('count a command that is missing', () => {
    expect(perdure('task')).toMatchObject({ status: 2, stdout: '' });
    expect(json(perdure('task', '--json').stdout)).toMatchObject({ success: false, code: 'USAGE' });
    const { status, stdout, stderr } = perdure();
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(perdure('--help').stdout);
  });
});

describe('a server that is not there', () => {
  it.each([
    [['task', 'list']],
    [['task', 'show', 'T-1']],
    [['task', 'create', '--title', 'x']],
    [['watch', 'T-1']],
    [['doctor']],
  ])('ends %j within 5 s with exit code 3, the address and a hint', (args) => {
    const { status, stdout, ms } = perdure(...args, '--json');
    expect(status).toBe(3);
    expect(ms).toBeLessThan(5_000);
    expect(json(stdout)).toMatchObject({
      success: false,
      code: 'TEMPORAL_UNREACHABLE',
      error: expect.stringContaining('127.0.0.1:1') as string,
      hint: expect.stringContaining('perdure up') as string,
      retryable: true,
    });
  });

  it('is told to people on stderr, without a stack', () => {
    const { stdout, stderr } = perdure('task', 'list');
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^error TEMPORAL_UNREACHABLE: .*\nhint: .*\n$/);
  });
});

describe('input that is refused before anything is asked', () => {
  it.each([
    ['INVALID_ARGUMENT', ['task', 'create', '--title', ' ']],
    ['INVALID_ARGUMENT', ['task', 'create', '--title', 'x', '--id', 'a/b']],
    ['INVALID_ARGUMENT', ['task', 'create', '--title', 'x', '--id', '..']],
    ['INVALID_ARGUMENT', ['task', 'create', '--title', 'x'.repeat(1_001)]],
    ['INVALID_ARGUMENT', ['task', 'note', 'T-1', ' ']],
    ['INVALID_ARGUMENT', ['task', 'show', 'a/b']],
    ['AGENT_NOT_FOUND', ['task', 'create', '--title', 'x', '--agent', 'nobody']],
    ['AGENT_NOT_FOUND', ['dispatch', 'T-1', '--agent', 'nobody']],
    ['workspace_missing', ['task', 'create', '--title', 'x', '--workspace', '/nothing/here']],
    ['WORKSPACE_NOT_DIRECTORY', ['task', 'create', '--title', 'x', '--workspace', '/etc/hostname']],
  ])('answers %s to %j with exit code 1', (code, args) => {
    const { status, stdout } = perdure(...args, '--json');
    expect(json(stdout)).toMatchObject({ success: false, code });
    expect(status).toBe(1);
  });
});

describe('a configuration that cannot be used', () => {
  afterEach(() => {
    rmSync(join(home, 'config.json'));
  });

  it('is a failed check of the doctor, who shows the others as well', () => {
    writeFileSync(join(home, 'config.json'), '{"receipts":{"webhok":"https://h/","secretFile":"s"}}');
    const { stdout } = perdure('doctor');
    expect(stdout).toMatch(/^FAIL config .*webhok/m);
    expect(stdout).toMatch(/^ +The section may look like \{"receipts":\{"webhook":/m);
    expect(stdout).toMatch(/^ok +git /m);
    expect(json(perdure('task', 'list', '--json').stdout)).toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', error: expect.stringContaining('webhok') as string },
    });
  });
});

describe('a home whose workers encrypt', () => {
  afterEach(() => {
    rmSync(join(home, 'encryption.json'));
  });

  it('sends nothing in clear, and the doctor says so', () => {
    rememberKeys(home, ['k1']);
    const refused = { success: false, code: 'PAYLOAD_KEY_MISSING', error: expect.stringContaining('key k1') as string };
    expect(json(perdure('task', 'create', '--title', 'x', '--json').stdout)).toMatchObject(refused);
    expect(json(perdure('dispatch', 'T-1', '--json').stdout)).toMatchObject(refused);
    expect(perdure('doctor').stdout).toMatch(/^FAIL payloads .*k1/m);
  });
});
