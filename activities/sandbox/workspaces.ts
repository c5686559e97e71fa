import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FailureCode } from '../../contract/failures';
import { taskWorkflowId, type TaskKey } from '../../contract/names';
import { errorCode } from '../provider/thrown';
import { markedGit, type Git } from './git';
import { endTidily, workMark } from './left-overs';
import { takeMakerLock, type MakerLock } from './maker-lock';
import { workspaceDigest } from './workspace-digest';
import { addWorktree, exists, isDirectory } from './worktree';

const TRIES = 3;

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
  /** What the workspace holds, as a digest; null when that cannot be told. */
  digestOf(task: TaskKey): Promise<string | null>;
}

/** Workspaces under `<home>/workspaces`, one directory per task, named so that no two tasks ever share one. */
export function createWorkspaces(home: string): Workspaces {
  const root = join(home, 'workspaces');
  const pathOf = (task: TaskKey) => join(root, nameOf(task));
  return {
    pathOf,
    digestOf: (task) => workspaceDigest(pathOf(task)),
    async ensure(task, repository) {
      const path = pathOf(task);
      const wasMade = await exists(`${path}.made`);
      if (wasMade && !(await exists(path))) {
        throw new WorkspaceError('workspace_missing', `the workspace ${path} is gone`);
      }
      if (!wasMade) await makeOnce({ path, branch: `perdure/${nameOf(task)}`, repository });
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

interface Wish {
  readonly path: string;
  readonly branch: string;
  readonly repository: string | null;
}

const making = new Map<string, Promise<void>>();

/** Callers in this process share one making; other processes are kept apart by the lock beside the path. */
async function makeOnce(wish: Wish): Promise<void> {
  const current = making.get(wish.path) ?? make(wish).finally(() => making.delete(wish.path));
  making.set(wish.path, current);
  await current;
}

const isMade = (path: string): boolean => existsSync(`${path}.made`);

async function make(wish: Wish): Promise<void> {
  const { path } = wish;
  const mark = workMark('workspace', path);
  try {
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
    for (let tries = 1; !isMade(path); tries += 1) {
      const contest = { isDone: () => isMade(path), endFormer: () => endTidily(mark) };
      const lock = await takeMakerLock(`${path}.maker`, contest);
      if (lock !== null) await makeUnder(lock, wish, { mark, tries });
    }
  } catch (error) {
    if (error instanceof WorkspaceError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new WorkspaceError('workspace_failed', `the workspace ${path} could not be made: ${message}`, {
      cause: error,
    });
  }
}

interface Making {
  readonly mark: string;
  readonly tries: number;
}

/** Makes a workspace; the mark beside it is written last, so one that a crash left half made is made anew. */
async function makeUnder(lock: MakerLock, wish: Wish, { mark, tries }: Making): Promise<void> {
  const { path, branch, repository } = wish;
  // A maker that was frozen meanwhile must not take away what another one made.
  const guard = (): void => {
    if (!lock.isHeld() || isMade(path)) throw new Error('another process makes it');
  };
  const git = markedGit(mark, guard);
  try {
    if (repository !== null && !(await isDirectory(repository))) {
      throw new WorkspaceError('workspace_missing', `the repository ${repository} is gone or is not a directory`);
    }
    await clear(path, guard);
    if (repository === null) await makeScratch(git, path);
    else await addWorktree(git, { path, branch, repository }, tries - 1);
    if (!lock.isHeld()) return;
    await writeFile(`${path}.made.new`, JSON.stringify({ repository }), { mode: 0o600, flush: true });
    await rename(`${path}.made.new`, `${path}.made`);
  } catch (error) {
    // What was left running, or another maker, may have come between: then it is tried again.
    if (error instanceof WorkspaceError || (lock.isHeld() && tries >= TRIES)) throw error;
    if (lock.isHeld()) await endTidily(mark);
  } finally {
    lock.release();
  }
}

/** Takes away what is half made. */
async function clear(path: string, guard: () => void): Promise<void> {
  const discarded = `${path}.discarded`;
  await rm(discarded, { recursive: true, force: true });
  // Nothing may come between the look and the move, and deleting a large tree takes long.
  guard();
  try {
    renameSync(path, discarded);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  await rm(discarded, { recursive: true, force: true });
}

async function makeScratch(git: Git, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await git(path, 'init', '--quiet');
  const author = ['-c', 'user.name=perdure', '-c', 'user.email=perdure@localhost'];
  await git(path, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'Begin');
}
