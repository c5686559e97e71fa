import { createHash } from 'node:crypto';
import { mkdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FailureCode } from '../../contract/failures';
import { taskWorkflowId, type TaskKey } from '../../contract/names';
import { git } from './git';

/** A workspace that cannot be had, with the code that says why. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceError';

  constructor(
    readonly code: Extract<FailureCode, 'workspace_missing' | 'workspace_failed'>,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The directories that tasks work in. */
export interface Workspaces {
  /**
   * The absolute path of a task's workspace: a git worktree of `repository`, or a scratch repository of its own.
   * Made on the first call; the same directory ever after.
   *
   * @throws WorkspaceError `workspace_missing` when the repository, or a workspace made earlier, is gone.
   */
  ensure(task: TaskKey, repository: string | null): Promise<string>;
  /** The absolute path, whether or not it was made yet. */
  pathOf(task: TaskKey): string;
}

/** Workspaces under `<home>/workspaces`, one directory per task, named so that no two tasks ever share one. */
export function createWorkspaces(home: string): Workspaces {
  const root = join(home, 'workspaces');
  const pathOf = (task: TaskKey) => join(root, nameOf(task));
  return {
    pathOf,
    async ensure(task, repository) {
      const path = pathOf(task);
      const isMade = await exists(`${path}.made`);
      if (isMade && !(await exists(path))) {
        throw new WorkspaceError('workspace_missing', `the workspace ${path} is gone`);
      }
      if (!isMade) await make(path, nameOf(task), repository);
      return realpath(path);
    },
  };
}

/** A readable part and a digest: titles and ids in any alphabet stay apart, also where case or form would collide. */
function nameOf(task: TaskKey): string {
  const digest = createHash('sha256').update(taskWorkflowId(task)).digest('hex').slice(0, 12);
  const readable = task.taskId.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
  return `${readable.slice(0, 40) || 'task'}-${digest}`;
}

/** Makes a workspace; the mark beside it is written last, so one that a crash left half made is made anew. */
async function make(path: string, name: string, repository: string | null): Promise<void> {
  try {
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
    if (repository === null) await makeScratch(path);
    else await addWorktree(path, `perdure/${name}`, repository);
    await writeFile(`${path}.made.new`, JSON.stringify({ repository }), { mode: 0o600, flush: true });
    await rename(`${path}.made.new`, `${path}.made`);
  } catch (error) {
    if (error instanceof WorkspaceError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new WorkspaceError('workspace_failed', `the workspace ${path} could not be made: ${message}`, {
      cause: error,
    });
  }
}

async function makeScratch(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  await git(path, 'init', '--quiet');
  const author = ['-c', 'user.name=perdure', '-c', 'user.email=perdure@localhost'];
  await git(path, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'Begin');
}

async function addWorktree(path: string, branch: string, repository: string): Promise<void> {
  if (!(await isDirectory(repository))) {
    throw new WorkspaceError('workspace_missing', `the repository ${repository} is gone or is not a directory`);
  }
  const add = () => git(repository, 'worktree', 'add', '--quiet', '-B', branch, path, 'HEAD');
  await rm(path, { recursive: true, force: true });
  // Git still knows a worktree whose directory is gone; only then has it to be told, which takes as long as the rest.
  await add().catch(async () => {
    await git(repository, 'worktree', 'prune');
    await rm(path, { recursive: true, force: true });
    await add();
  });
}

const exists = (path: string): Promise<boolean> => stat(path).then(() => true, isAbsent);
const isDirectory = (path: string): Promise<boolean> => stat(path).then((entry) => entry.isDirectory(), isAbsent);

/** Absent is an answer; a path that cannot be looked at is an error. */
function isAbsent(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
  throw error;
}
