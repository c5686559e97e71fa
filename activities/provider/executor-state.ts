import { existsSync } from 'node:fs';
import { ATTEMPT_MARK } from '../../contract/marks';
import { markedProcesses } from './marked-processes';
import { isSameProcess, type ProcessIdentity } from './process-identity';
import { readClaim, readRunner, type RunPaths } from './run-directory';

/** `orphaned`: the runner is proven dead, something of the attempt still lives. `gone`: nothing of it does. */
export type ExecutorState =
  | { kind: 'alive' | 'unknown' | 'gone'; evidence: string[] }
  | { kind: 'orphaned'; provider: ProcessIdentity | null; marked: ProcessIdentity[]; evidence: string[] };

/** Whether a runner took the attempt; from then on nobody may start it again. */
export const isTaken = (paths: RunPaths): boolean => existsSync(paths.claim) || existsSync(paths.exit);

const pids = (processes: ProcessIdentity[]): string => processes.map(({ pid }) => String(pid)).join(', ');

/** Looks at the processes of an attempt that was taken and has no recorded exit. */
export function executorState(paths: RunPaths, attemptId: string): ExecutorState {
  const claim = readClaim(paths);
  if (claim.kind === 'unreadable') return { kind: 'unknown', evidence: [`the claim cannot be read: ${claim.why}`] };
  const evidence: string[] = [];
  if (claim.kind === 'found') {
    const runner = isSameProcess(claim.value);
    evidence.push(`runner ${String(claim.value.pid)} is ${runner}`);
    if (runner !== 'dead') return { kind: runner, evidence };
  } else {
    evidence.push('no runner took the attempt');
  }
  const record = readRunner(paths);
  const provider = record.kind === 'found' ? record.value.provider : null;
  const liveness = provider === null ? 'dead' : isSameProcess(provider);
  if (provider !== null) evidence.push(`provider ${String(provider.pid)} is ${liveness}`);
  if (liveness === 'unknown') return { kind: 'unknown', evidence };
  const marked = markedProcesses(ATTEMPT_MARK, attemptId);
  evidence.push(
    marked.length > 0 ? `processes marked with the attempt live: ${pids(marked)}` : 'no marked process lives',
  );
  if (liveness === 'dead' && marked.length === 0) return { kind: 'gone', evidence };
  return { kind: 'orphaned', provider, marked, evidence };
}
