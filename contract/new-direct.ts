import type { DirectTask, NewDirectTask } from './direct';

/** A direct task that nothing was asked for yet. */
export function newDirectTask({ allowFullAccess: _, ...given }: NewDirectTask): DirectTask {
  const { id, repositoryPath, createdAt } = given;
  return {
    ...given,
    backend: 'codex',
    identity: {
      provider: 'codex',
      session: id,
      account: 'inherited-provider-environment',
      origin: 'perdure-direct',
      worktree: repositoryPath,
    },
    status: 'queued',
    invocationCount: 0,
    handle: null,
    stop: null,
    result: null,
    code: null,
    error: null,
    usage: null,
    exit: null,
    threadId: null,
    codexHome: null,
    cliVersion: null,
    spawns: 0,
    strays: 0,
    warnings: [],
    receipt: null,
    recoveryNote: null,
    incidents: [],
    decision: null,
    startedAt: null,
    endedAt: null,
    updatedAt: createdAt,
  };
}
