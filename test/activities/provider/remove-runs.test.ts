import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executorState, isTaken } from '../../../activities/provider/executor-state';
import { ownIdentity } from '../../../activities/provider/process-identity';
import { removeRuns } from '../../../activities/provider/remove-runs';
import { AttemptIdError, runPaths } from '../../../activities/provider/run-directory';

const attemptId = '0199aaaa-bbbb-4ccc-8ddd-000000000001';
const other = '0199aaaa-bbbb-4ccc-8ddd-000000000002';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-removal-'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const exit = { endedAt: '2026-01-01T00:00:00.000Z', forced: false, strays: 0, code: 0, signal: null };
const ended = { ...exit, startedAt: null, reason: null, stopReason: null, spawnError: null };

function writeRun(id: string, files: Record<string, unknown>) {
  const paths = runPaths(home, id);
  mkdirSync(paths.directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(paths.directory, name), JSON.stringify(content));
  return paths;
}

describe('the output of an attempt that is over', () => {
  it('goes, and what keeps the attempt from being started again stays (DW-17)', () => {
    const kept = { claim: ownIdentity(), 'exit.json': ended, 'spawns.jsonl': {}, 'request.json': {} };
    const paths = writeRun(attemptId, {
      ...kept,
      'stdout.jsonl': {},
      'stderr.log': {},
      'prompt.txt': 'p',
      'last-message.txt': 'm',
    });
    expect(removeRuns({ home }, { attemptIds: [attemptId, other] })).toEqual({ removed: 1 });
    expect(readdirSync(paths.directory).sort()).toEqual([
      'claim',
      'exit.json',
      'removed',
      'request.json',
      'spawns.jsonl',
    ]);
    expect(isTaken(paths)).toBe(true);
    expect(removeRuns({ home }, { attemptIds: [attemptId] })).toEqual({ removed: 0 });
    expect(existsSync(runPaths(home, other).directory)).toBe(false);
  });

  it('stays while its executor is not proven gone', () => {
    const me = ownIdentity();
    const runner = { runner: me, provider: me, startedAt: '2026-01-01T00:00:00.000Z' };
    const paths = writeRun(attemptId, { claim: me, 'runner.json': runner, 'stdout.jsonl': {} });
    expect(executorState(paths, attemptId).kind).not.toBe('gone');
    expect(removeRuns({ home }, { attemptIds: [attemptId] })).toEqual({ removed: 0 });
    expect(existsSync(paths.stdout)).toBe(true);
  });

  it('is no other directory than that of an attempt', () => {
    expect(() => removeRuns({ home }, { attemptIds: ['../..'] })).toThrow(AttemptIdError);
  });
});
