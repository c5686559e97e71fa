import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, messageOf, refuse } from './outcome';

const run = promisify(execFile);

const GIT_MS = 10_000;
/** A caller does not wait longer than this for a mere warning. */
const STATUS_MS = 5_000;

/** A repository that a task works in, or null for a scratch one. */
export interface ChosenWorkspace {
  readonly path: string | null;
  readonly warnings: string[];
}

/** Checks a workspace that the caller named: a directory in a git repository with a commit; subdirectories mean it all. */
export async function chooseWorkspace(named: string): Promise<ChosenWorkspace> {
  const directory = await realDirectory(resolve(named));
  const top = await topLevel(directory);
  if (!(await hasCommit(top))) refuse('WORKSPACE_NO_COMMIT', `the repository ${top} has no commit`);
  const wider = top === directory ? [] : [`${directory} is in the repository ${top}; the task works in all of it`];
  return { path: top, warnings: [...wider, ...(await uncommitted(top))] };
}

/** Checks a repository that is worked in itself: its top directory; a commit is not needed, nor is a clean tree. */
export async function chooseRepository(named: string): Promise<{ path: string; warnings: string[] }> {
  const directory = await realDirectory(resolve(named));
  const top = await topLevel(directory);
  const wider = `${directory} is in the repository ${top}; the task works in all of it`;
  return { path: top, warnings: top === directory ? [] : [wider] };
}

/** The repository that a directory is in, when it has a commit; else a scratch one. */
export async function defaultWorkspace(directory: string): Promise<ChosenWorkspace> {
  try {
    const top = await topLevel(await realpath(directory));
    if (await hasCommit(top)) return { path: top, warnings: await uncommitted(top) };
    return { path: null, warnings: [`a scratch repository is used instead, because ${top} has no commit`] };
  } catch {
    return { path: null, warnings: [] };
  }
}

async function realDirectory(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') refuse('WORKSPACE_NOT_DIRECTORY', `${path} is not a directory`);
    const why = errnoOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${messageOf(error)})`;
    refuse('workspace_missing', `${path} ${why}`);
  }
  return refuse('WORKSPACE_NOT_DIRECTORY', `${path} is not a directory`);
}

async function topLevel(directory: string): Promise<string> {
  try {
    // Git ends the path with one newline; the path itself may end with blanks.
    return await realpath((await git(directory, ['rev-parse', '--show-toplevel'])).replace(/\n$/, ''));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      refuse('WORKSPACE_NOT_GIT', 'git was not found', { hint: 'Install git and put it on PATH.' });
    }
    const said = /^fatal: (.*)$/m.exec(messageOf(error))?.[1] ?? messageOf(error);
    return refuse('WORKSPACE_NOT_GIT', `${directory} is not in the work tree of a git repository (${said})`);
  }
}

async function hasCommit(directory: string): Promise<boolean> {
  try {
    await git(directory, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
    return true;
  } catch {
    return false;
  }
}

/** Warns of changes that a worktree of the last commit does not have; a status that takes too long is left out. */
async function uncommitted(top: string): Promise<string[]> {
  const warning = `uncommitted changes in ${top} are not in the task's worktree`;
  try {
    const status = ['--no-optional-locks', '-c', 'core.fsmonitor=false', 'status', '--porcelain'];
    return (await git(top, status, STATUS_MS)) === '' ? [] : [warning];
  } catch (error) {
    return errnoOf(error) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? [warning] : [];
  }
}

async function git(directory: string, args: string[], timeout = GIT_MS): Promise<string> {
  // A caller's own GIT_DIR (a hook has one) would answer for another repository.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  const options = { cwd: directory, env: { ...env, LC_ALL: 'C' }, timeout };
  return (await run('git', args, options)).stdout;
}
