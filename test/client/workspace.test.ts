import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseWorkspace, defaultWorkspace } from '../../client/workspace';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-ws-')));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function repository(name: string, hasCommit = true): string {
  const path = join(root, name);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', path, '-c', 'user.name=n', '-c', 'user.email=e', ...args]);
  mkdirSync(path);
  git('init', '-q');
  if (hasCommit) git('commit', '-q', '--allow-empty', '-m', 'first');
  return path;
}

const refusal = (code: string) => ({ failure: expect.objectContaining({ code }) as object });

describe('chooseWorkspace', () => {
  it('takes a repository whose path has blanks and quotes', async () => {
    const path = repository(`it's "a" repo `);
    expect(await chooseWorkspace(path)).toEqual({ path, warnings: [] });
  });

  it('takes the repository behind a symbolic link', async () => {
    const path = repository('repo');
    symlinkSync(path, join(root, 'link'));
    expect(await chooseWorkspace(join(root, 'link'))).toEqual({ path, warnings: [] });
  });

  it('takes the whole repository for a directory in it, and warns', async () => {
    const path = repository('repo');
    mkdirSync(join(path, 'inside'));
    const chosen = await chooseWorkspace(join(path, 'inside'));
    expect(chosen).toEqual({ path, warnings: [expect.stringContaining(path)] });
  });

  it('is not led astray by the GIT_DIR of a caller', async () => {
    const path = repository('repo');
    process.env['GIT_DIR'] = join(repository('other'), '.git');
    try {
      expect((await chooseWorkspace(path)).path).toBe(path);
    } finally {
      delete process.env['GIT_DIR'];
    }
  });

  it('warns of changes that no commit holds', async () => {
    const path = repository('repo');
    writeFileSync(join(path, 'new'), '');
    const warnings = [`uncommitted changes in ${path} are not in the task's worktree`];
    expect(await chooseWorkspace(path)).toEqual({ path, warnings });
    expect(await defaultWorkspace(path)).toEqual({ path, warnings });
  });

  it.each([
    ['workspace_missing', () => join(root, 'nothing')],
    ['WORKSPACE_NOT_GIT', () => root],
    ['WORKSPACE_NO_COMMIT', () => repository('empty', false)],
    ['WORKSPACE_NOT_GIT', () => join(repository('repo'), '.git')],
  ])('refuses with %s', async (code, path) => {
    await expect(chooseWorkspace(path())).rejects.toMatchObject(refusal(code));
  });

  it.each(['file', 'file/below'])('refuses %s, which is no directory', async (name) => {
    writeFileSync(join(root, 'file'), '');
    await expect(chooseWorkspace(join(root, name))).rejects.toMatchObject(refusal('WORKSPACE_NOT_DIRECTORY'));
  });
});

describe('defaultWorkspace', () => {
  it('takes the repository that the directory is in', async () => {
    const path = repository('repo');
    expect(await defaultWorkspace(path)).toEqual({ path, warnings: [] });
  });

  it('means a scratch repository elsewhere, and where there is no commit', async () => {
    expect(await defaultWorkspace(root)).toEqual({ path: null, warnings: [] });
    const path = repository('empty', false);
    const warnings = [`a scratch repository is used instead, because ${path} has no commit`];
    expect(await defaultWorkspace(path)).toEqual({ path: null, warnings });
  });
});
