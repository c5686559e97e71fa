import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workspaceDigest } from '../../../activities/sandbox/workspace-digest';

let directory: string;
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: directory, stdio: 'pipe' });
const write = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-digest-'));
  git('init', '-q');
  write('.gitignore', 'ignored\n');
  write('a.txt', 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('the digest of a workspace', () => {
  it('stays as long as nothing changes, and does not see ignored files (CK-21)', async () => {
    const before = await workspaceDigest(directory);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    write('ignored', 'x');
    expect(await workspaceDigest(directory)).toBe(before);
  });

  it.each<[string, () => void]>([
    [
      'a changed file',
      () => {
        write('a.txt', 'two\n');
      },
    ],
    [
      'a new file',
      () => {
        write('b.txt', 'x');
      },
    ],
    [
      'a new name with a line feed',
      () => {
        write('b\nc', 'x');
      },
    ],
    ['a commit', () => git('commit', '-qm', 'second', '--allow-empty')],
    ['a branch', () => git('checkout', '-qb', 'other')],
    [
      'a file that is gone',
      () => {
        rmSync(join(directory, 'a.txt'));
      },
    ],
  ])('changes with %s (CK-21)', async (_, change) => {
    const before = await workspaceDigest(directory);
    change();
    expect(await workspaceDigest(directory)).not.toBe(before);
  });

  it('changes with what a new file holds (CK-21)', async () => {
    write('b.txt', 'x');
    const before = await workspaceDigest(directory);
    write('b.txt', 'y');
    expect(await workspaceDigest(directory)).not.toBe(before);
  });

  it('is null where git cannot tell', async () => {
    rmSync(join(directory, '.git'), { recursive: true });
    expect(await workspaceDigest(directory)).toBeNull();
    expect(await workspaceDigest(join(directory, 'gone'))).toBeNull();
  });
});
