import { executorState } from './executor-state';
import { familyOf } from './marked-processes';
import { endMarked, escalate, signalProcess, type Escalation, type StopSignal } from './process-ending';
import { isSameProcess, type ProcessIdentity } from './process-identity';
import type { RunPaths } from './run-directory';

/** A provider whose runner is dead: nobody but the follower can end it. */
export interface Orphan {
  readonly paths: RunPaths;
  readonly attemptId: string;
  readonly provider: ProcessIdentity | null;
}

function sendTo({ paths, attemptId, provider }: Orphan, signal: StopSignal): void {
  if (provider !== null && isSameProcess(provider) === 'alive') {
    try {
      process.kill(-provider.pid, signal);
    } catch {
      // It ended in between.
    }
    return;
  }
  const state = executorState(paths, attemptId);
  if (state.kind === 'orphaned') for (const marked of state.marked) signalProcess(marked, signal);
}

/** Ends what is left of an attempt by the runner's own rules: ask, insist, then every marked process. */
export async function endOrphan(orphan: Orphan, waits: Escalation): Promise<{ forced: boolean; strays: number }> {
  const { paths, attemptId, provider } = orphan;
  const noted = new Map<number, ProcessIdentity>();
  const hasEnded = (): boolean =>
    provider === null ? executorState(paths, attemptId).kind === 'gone' : isSameProcess(provider) === 'dead';
  const send = (signal: StopSignal): void => {
    if (provider !== null) for (const member of familyOf(provider)) noted.set(member.pid, member);
    sendTo(orphan, signal);
  };
  const forced = hasEnded() ? false : await escalate(send, hasEnded, waits);
  return { forced, strays: await endMarked(attemptId, noted.values()) };
}
