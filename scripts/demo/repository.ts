import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes a git repository with one file and one commit. */
export function makeRepository(path: string): string {
  mkdirSync(path);
  writeFileSync(join(path, 'README.md'), '# A repository for the demo\n');
  const author = ['-c', 'user.name=demo', '-c', 'user.email=demo@localhost', '-c', 'commit.gpgsign=false'];
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    [...author, 'commit', '--quiet', '-m', 'Begin'],
  ]) {
    execFileSync('git', args, { cwd: path, stdio: ['ignore', 'ignore', 'pipe'] });
  }
  return path;
}
