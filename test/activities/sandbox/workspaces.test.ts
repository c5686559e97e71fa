import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWorkspaces } from '../../../activities/sandbox/workspaces';

const git = (directory: string, ...args: string[]) => execFileSync('git', args, { cwd: directory, encoding: 'utf8' });

describe('workspaces', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-workspaces-'));
  const repository = join(directory, 'repository');
  const workspaces = createWorkspaces(join(directory, 'home'));
  const task = (taskId: string) => ({ tenantId: 'default', taskId });

  beforeAll(() => {
    mkdirSync(repository);
    git(repository, 'init', '--quiet');
    writeFileSync(join(repository, 'a.txt'), 'one\n');
    git(repository, 'add', '.');
    git(repository, '-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '--quiet', '-m', 'first');
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('are a git worktree per task, the same one ever after', async () => {
    const path = await workspaces.ensure(task('T-1'), repository);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n');
    writeFileSync(join(path, 'a.txt'), 'two\n');
    expect(await workspaces.ensure(task('T-1'), repository)).toBe(path);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\n');
    expect(readFileSync(join(repository, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('are a scratch repository for a task without one', async () => {
    const path = await workspaces.ensure(task('T-2'), null);
    expect(git(path, 'log', '--format=%s')).toBe('Begin\n');
  });

  it('are apart for every two tasks, also where names fold together (P94)', async () => {
    const ids = ['tool', 'Tool', 'é', 'e\u0301', '日本', '中国', '🙂', '🙃', 'a.', 'CON', 'x'.repeat(128)];
    const paths = await Promise.all(ids.map((taskId) => workspaces.ensure(task(taskId), null)));
    expect(new Set(paths.map((path) => path.toLowerCase().normalize('NFC'))).size).toBe(ids.length);
  });

  it('refuse a repository that is gone, and make nothing (P86)', async () => {
    const gone = workspaces.ensure(task('T-3'), join(directory, 'nowhere'));
    await expect(gone).rejects.toMatchObject({ code: 'workspace_missing' });
    expect(existsSync(workspaces.pathOf(task('T-3')))).toBe(false);
  });

  it('refuse a workspace that somebody removed, and do not make it again (P86)', async () => {
    const path = await workspaces.ensure(task('T-4'), repository);
    rmSync(path, { recursive: true });
    await expect(workspaces.ensure(task('T-4'), repository)).rejects.toMatchObject({ code: 'workspace_missing' });
    expect(existsSync(path)).toBe(false);
  });

  it('are made anew when a crash left one half made', async () => {
    const path = workspaces.pathOf(task('T-5'));
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'half'), '');
    expect(existsSync(join(await workspaces.ensure(task('T-5'), repository), 'half'))).toBe(false);
  });
});
