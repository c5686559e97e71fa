import { realpath, stat } from 'node:fs/promises';
import type { RunOrder } from '../../contract/activities';
import type { Workspaces } from './provider-deps';
import { errorCode } from './thrown';

/** A repository that an attempt was to work in itself, and that is not there. */
export class RepositoryError extends Error {
  readonly code = 'workspace_missing';
}

/** Absolute path of the directory that an attempt works in: the repository itself, or the task's worktree of it. */
export async function workingDirectory(workspaces: Workspaces, order: RunOrder): Promise<string> {
  const { task, repository, workspace } = order;
  if (workspace !== 'repository') return workspaces.ensure(task, repository);
  const gone = new RepositoryError(`the repository ${String(repository)} is gone or is not a directory`);
  if (repository === null) throw gone;
  try {
    const path = await realpath(repository);
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    // One that cannot be looked at is not gone.
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw error;
  }
  throw gone;
}
