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
export async function addWorktree(git: Git, wish: Worktree, skipped: number): Promise<void> {
  const { path, branch, repository } = wish;
  // Nearly always nothing is in the way, and git changes nothing where something is.
  if (skipped === 0 && (await succeeds(git, repository, ...addition(wish)))) return;
  // An add that was killed left an entry, which git has locked.
  await git(repository, 'worktree', 'remove', '--force', '--force', path).catch(() => undefined);
  const { name, isNew } = await freeBranch(git, { repository, branch, skipped });
  const what = isNew ? ['-b', name, path, 'HEAD'] : [path, name];
  // By force where the entry could not be removed.
  const force = skipped === 0 ? [] : ['--force', '--force'];
  await git(repository, 'worktree', 'add', '--quiet', ...force, ...what);
}

const addition = ({ path, branch }: Worktree) => ['worktree', 'add', '--quiet', '-b', branch, path, 'HEAD'];

const succeeds = (git: Git, directory: string, ...args: string[]): Promise<boolean> =>
  git(directory, ...args).then(
    () => true,
    () => false,
  );

interface Wanted {
  readonly repository: string;
  readonly branch: string;
  readonly skipped: number;
}

/** The first of `branch`, `branch-2`, ... that is new, or has nothing that HEAD has not and is checked out nowhere. */
async function freeBranch(git: Git, wanted: Wanted): Promise<{ name: string; isNew: boolean }> {
  const { repository, branch, skipped } = wanted;
  const works = (...args: string[]): Promise<boolean> => succeeds(git, repository, ...args);
  for (let number = 1 + skipped; number <= MAX_BRANCHES; number += 1) {
    const name = number === 1 ? branch : `${branch}-${String(number)}`;
    const ref = `refs/heads/${name}`;
    if (!(await works('rev-parse', '--verify', '--quiet', ref))) return { name, isNew: true };
    // It refuses to move a branch that any worktree has checked out.
    const isMoved =
      (await works('merge-base', '--is-ancestor', ref, 'HEAD')) &&
      (await works('branch', '--quiet', '--no-track', '--force', name, 'HEAD'));
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
