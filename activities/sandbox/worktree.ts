import { stat } from 'node:fs/promises';
import type { Git } from './git';

const MAX_BRANCHES = 1_000;

/** A worktree that is to be there. */
export interface Worktree {
  readonly path: string;
  /** The branch it is to have; a number is added when that one is not free. */
  readonly branch: string;
  readonly repository: string;
}

/** Adds a worktree on a branch at HEAD; takes no commit from any branch and touches no other worktree. */
export async function addWorktree(git: Git, { path, branch, repository }: Worktree, skipped: number): Promise<void> {
  // An add that was killed left an entry, which git has locked.
  await git(repository, 'worktree', 'remove', '--force', '--force', path).catch(() => undefined);
  const { name, isNew } = await freeBranch(git, { repository, branch, skipped });
  const what = isNew ? ['-b', name, path, 'HEAD'] : [path, name];
  const add = (...force: string[]) => git(repository, 'worktree', 'add', '--quiet', ...force, ...what);
  if (skipped === 0) await add();
  // Where the entry could not be removed.
  else await add('--force', '--force');
}

interface Wanted {
  readonly repository: string;
  readonly branch: string;
  readonly skipped: number;
}

/** The first of `branch`, `branch-2`, ... that is new, or has nothing that HEAD has not and is checked out nowhere. */
async function freeBranch(git: Git, wanted: Wanted): Promise<{ name: string; isNew: boolean }> {
  const { repository, branch, skipped } = wanted;
  const succeeds = (...args: string[]): Promise<boolean> =>
    git(repository, ...args).then(
      () => true,
      () => false,
    );
  for (let number = 1 + skipped; number <= MAX_BRANCHES; number += 1) {
    const name = number === 1 ? branch : `${branch}-${String(number)}`;
    const ref = `refs/heads/${name}`;
    if (!(await succeeds('rev-parse', '--verify', '--quiet', ref))) return { name, isNew: true };
    // It refuses to move a branch that any worktree has checked out.
    const isMoved =
      (await succeeds('merge-base', '--is-ancestor', ref, 'HEAD')) &&
      (await succeeds('branch', '--quiet', '--no-track', '--force', name, 'HEAD'));
    if (isMoved) return { name, isNew: false };
  }
  throw new Error(`no branch is free beside ${branch}`);
}

/** Absent is an answer; a path that cannot be looked at is an error. */
export const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then((entry) => entry.isDirectory(), isAbsent);
export const exists = (path: string): Promise<boolean> => stat(path).then(() => true, isAbsent);

function isAbsent(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
  throw error;
}
