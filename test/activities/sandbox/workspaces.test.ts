import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workMark } from '../../../activities/sandbox/left-overs';
import { ownIdentity } from '../../../activities/provider/process-identity';
import { ATTEMPT_MARK } from '../../../contract/marks';
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

  const branchOf = (path: string) => git(path, 'branch', '--show-current').trim();
  const commit = (path: string) =>
    git(path, '-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '-q', '--allow-empty', '-m', 'work');
  /** A home that was thrown away, and a new one. */
  const anew = () => createWorkspaces(mkdtempSync(join(directory, 'home-')));

  it('leave the commits of an earlier workspace on their branch, and take another one', async () => {
    const first = await anew().ensure(task('T-6'), repository);
    const branch = branchOf(first);
    commit(first);
    const kept = git(first, 'rev-parse', 'HEAD');
    rmSync(first, { recursive: true });
    const second = await anew().ensure(task('T-6'), repository);
    expect(branchOf(second)).toBe(`${branch}-2`);
    expect(git(repository, 'rev-parse', branch)).toBe(kept);
  });

  it('take a branch again that holds nothing of its own', async () => {
    const first = await anew().ensure(task('T-7'), repository);
    const branch = branchOf(first);
    git(repository, 'worktree', 'remove', '--force', first);
    expect(branchOf(await anew().ensure(task('T-7'), repository))).toBe(branch);
  });

  it("leave the user's own worktrees alone, also those on a disk that is not there", async () => {
    const away = join(directory, 'away');
    git(repository, 'worktree', 'add', '--quiet', '-b', 'mine', away, 'HEAD');
    rmSync(away, { recursive: true });
    const half = workspaces.pathOf(task('T-8'));
    git(repository, 'worktree', 'add', '--quiet', '--lock', '-b', 'half', half, 'HEAD');
    await workspaces.ensure(task('T-8'), repository);
    expect(git(repository, 'worktree', 'list')).toContain(away);
  });

  it('end what a killed worker left running at it, and are made in its stead', async () => {
    const path = workspaces.pathOf(task('T-9'));
    mkdirSync(join(path, '..'), { recursive: true });
    git(repository, 'worktree', 'add', '--quiet', '--lock', '-b', 'orphaned', path, 'HEAD');
    const dead = { ...ownIdentity(), startTime: '1' };
    writeFileSync(`${path}.maker`, JSON.stringify({ token: 't', maker: dead }));
    const env = { PATH: process.env.PATH, [ATTEMPT_MARK]: workMark('workspace', path) };
    const orphan = spawn('sleep', ['600'], { stdio: 'ignore', detached: true, env });
    const ended = new Promise((resolve) => orphan.once('exit', resolve));
    expect(branchOf(await workspaces.ensure(task('T-9'), repository))).toMatch(/^perdure\/T-9-/);
    await ended;
    expect(existsSync(`${path}.maker`)).toBe(false);
  });

  it('are shared by callers that come at once', async () => {
    const calls = [1, 2, 3].map(() => workspaces.ensure(task('T-10'), repository));
    expect(new Set(await Promise.all(calls)).size).toBe(1);
  });
});
