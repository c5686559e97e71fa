import type { DirectTask } from '../../contract/direct';
import { failure, type Failure } from '../../contract/failures';

/** What the snapshot of a detached execution says, and what its host says of the execution itself. */
export interface Adoption {
  /** Names the execution: the task it is bound to, and where it works. */
  readonly handle: { readonly taskId: string; readonly worktree: string };
  readonly snapshot: {
    readonly id: string;
    /** State of the task as the start registered it. */
    readonly state: string;
    readonly stopRequested: boolean;
    readonly metadata: DirectTask;
  };
  readonly worker: 'running' | 'stopping' | 'completed' | 'recovery_required';
}

/**
 * The task as its next supervisor takes it over (DW-6 to DW-11): it reads and stops, and can never start it again. A
 * snapshot of another task is refused. `known` is what this supervisor has of the task already.
 */
export function mergeAdoption(known: DirectTask | null, adoption: Adoption): DirectTask | Failure {
  const { handle, snapshot, worker } = adoption;
  const { metadata } = snapshot;
  if (snapshot.id !== handle.taskId || metadata.id !== handle.taskId) {
    return failure('direct_snapshot_unavailable', `the snapshot of ${metadata.id} is not that of ${handle.taskId}`);
  }
  const isStopping = snapshot.stopRequested || worker === 'stopping';
  const base = known ?? { ...metadata, repositoryPath: handle.worktree, invocationCount: 1 };
  // A stop that a known task has is never taken back, and its registered state says nothing about one (DW-10).
  const isAsked = isStopping || base.stop !== null || (known === null && snapshot.state === 'stopped');
  const stop = isAsked ? (base.stop ?? metadata.stop ?? stopOf(metadata)) : null;
  const task = { ...base, stop };
  return worker === 'completed' ? task : { ...task, status: statusOf(isAsked, worker) };
}

const stopOf = ({ updatedAt }: DirectTask): NonNullable<DirectTask['stop']> => ({
  at: updatedAt,
  actor: 'adoption',
  reason: 'a stop was asked for before the adoption',
  cause: 'user',
});

function statusOf(isAsked: boolean, worker: Adoption['worker']): DirectTask['status'] {
  if (isAsked) return 'stopping';
  return worker === 'running' ? 'running' : 'recovery_required';
}
