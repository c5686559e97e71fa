import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ExecutableUnavailableError, findCodex } from '../../../activities/provider/codex-binary';
import { codexArguments } from '../../../activities/provider/codex-command';
import type { RunOrder } from '../../../contract/activities';

const THREAD = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf610';
const order = (exact: Partial<RunOrder>): RunOrder => ({
  attemptId: '11111111-1111-4111-8111-111111111111',
  task: { tenantId: 'default', taskId: 'T-1' },
  mode: 'start',
  threadId: null,
  codexHome: null,
  message: '--help is a secret prompt',
  repository: null,
  policy: { sandbox: 'read-only', model: null },
  limits: { timeMs: 1_000, inactivityMs: 1_000, startMs: 1_000, outputBytes: 1_024 },
  ...exact,
});

describe('command line of Codex', () => {
  it('of a fresh run marks the thread with the attempt and takes the prompt from stdin (CX-3, P23)', () => {
    const start = codexArguments(order({}), '/w');
    expect(start.join(' ')).toBe(
      'exec -C /w -s read-only --json --skip-git-repo-check --thread-source 11111111-1111-4111-8111-111111111111 -',
    );
  });

  it('of a resume has place and sandbox before the word, and names exactly one thread (P28)', () => {
    const policy = { sandbox: 'workspace-write', model: 'gpt-5.5' } as const;
    const resume = codexArguments(order({ mode: 'resume', threadId: THREAD, policy }), '/w');
    expect(resume.join(' ')).toBe(
      `exec -C /w -s workspace-write resume --json --skip-git-repo-check -m gpt-5.5 ${THREAD} -`,
    );
  });

  it.each([null, '', '--last', 'my thread', `${THREAD} x`])('refuses the thread id %j', (threadId) => {
    expect(() => codexArguments(order({ mode: 'resume', threadId }), '/w')).toThrow(/no UUID/);
  });
});

describe('the Codex program', () => {
  const root = mkdtempSync(join(tmpdir(), 'perdure-codex-'));
  afterAll(() => {
    rmSync(root, { recursive: true, force: true });
  });
  const program = (path: string, mode = 0o700): string => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, mode);
    return path;
  };

  it('is the one that PERDURE_CODEX_BIN names', () => {
    const path = program(join(root, 'mine', 'codex'));
    expect(findCodex({ PERDURE_CODEX_BIN: path })).toBe(path);
  });

  it('is refused by name when PERDURE_CODEX_BIN is no program (CX-6)', () => {
    const plain = program(join(root, 'plain'), 0o600);
    for (const path of [plain, join(root, 'missing'), root]) {
      expect(() => findCodex({ PERDURE_CODEX_BIN: path })).toThrow(path);
      expect(() => findCodex({ PERDURE_CODEX_BIN: path })).toThrow(ExecutableUnavailableError);
    }
  });

  it('is the binary behind the npm launcher, which SIGKILL would leave running (CX-7)', () => {
    const triple = { 'linux-x64': 'x86_64-unknown-linux-musl', 'linux-arm64': 'aarch64-unknown-linux-musl' };
    const platform = `${process.platform}-${process.arch}`;
    if (!(platform in triple)) return;
    const modules = join(root, 'lib', 'node_modules', '@openai');
    const vendor = triple[platform as keyof typeof triple];
    const binary = program(join(modules, `codex-${platform}`, 'vendor', vendor, 'bin', 'codex'));
    const launcher = program(join(modules, 'codex', 'bin', 'codex.js'));
    const link = join(root, 'codex');
    symlinkSync(launcher, link);
    expect(findCodex({ PERDURE_CODEX_BIN: link })).toBe(binary);
  });
});
