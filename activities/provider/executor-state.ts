import { existsSync } from 'node:fs';
import type { Liveness } from '../../contract/activities';
import { ATTEMPT_MARK, RUNNER_MARK } from '../../contract/marks';
import { familyOf, hiddenSince, markedProcesses } from './marked-processes';
import { isSameProcess, type ProcessIdentity } from './process-identity';
import { readClaim, readRunner, type RunPaths, type RunnerRecord } from './run-directory';

/** `orphaned`: the runner is proven dead, something of the attempt still lives. `gone`: nothing of it does. */
export type ExecutorState =
  | { kind: 'alive' | 'unknown' | 'gone'; evidence: string[] }
  | { kind: 'orphaned'; provider: ProcessIdentity | null; marked: ProcessIdentity[]; evidence: string[] };

/** Whether a runner took the attempt, by any file that it leaves; from then on nobody may start it again. */
export const isTaken = ({ claim, exit, ledger, runner }: RunPaths): boolean =>
  [claim, exit, ledger, runner].some((path) => existsSync(path));

/** Whether a provider runs, or a runner has begun with one, by their marks alone: without any file. */
export const runsByMarks = (attemptId: string): boolean =>
  markedProcesses(ATTEMPT_MARK, attemptId).length > 0 ||
  markedProcesses(RUNNER_MARK, attemptId).some((runner) => familyOf(runner).length > 1);

const pids = (processes: ProcessIdentity[]): string => processes.map(({ pid }) => String(pid)).join(', ');

/** Whether the attempt's runner lives; a claim that somebody deleted is made up for by what else names the runner. */
function runnerState(claimed: ProcessIdentity | null, attemptId: string): { liveness: Liveness; evidence: string } {
  if (claimed !== null) {
    const liveness = isSameProcess(claimed);
    return { liveness, evidence: `runner ${String(claimed.pid)} is ${liveness}` };
  }
  const runners = markedProcesses(RUNNER_MARK, attemptId);
  return runners.length > 0
    ? { liveness: 'alive', evidence: `runner ${pids(runners)} is alive` }
    : { liveness: 'dead', evidence: 'no runner took the attempt' };
}

/** Processes that may be a provider of which its dead runner could not write down any more which one it is. */
function hiddenProviders(paths: RunPaths, claim: ProcessIdentity | null, record: RunnerRecord | null) {
  return record === null && claim !== null && existsSync(paths.ledger) ? hiddenSince(claim) : [];
}

/** Looks at the processes of an attempt that has no recorded exit. */
export function executorState(paths: RunPaths, attemptId: string): ExecutorState {
  const read = readClaim(paths);
  if (read.kind === 'unreadable') return { kind: 'unknown', evidence: [`the claim cannot be read: ${read.why}`] };
  const found = readRunner(paths);
  const record = found.kind === 'found' ? found.value : null;
  const claim = read.kind === 'found' ? read.value : (record?.runner ?? null);
  const runner = runnerState(claim, attemptId);
  const evidence = [runner.evidence];
  if (runner.liveness !== 'dead') return { kind: runner.liveness, evidence };
  const provider = record?.provider ?? null;
  const liveness = provider === null ? 'dead' : isSameProcess(provider);
  if (provider !== null) evidence.push(`provider ${String(provider.pid)} is ${liveness}`);
  if (liveness === 'unknown') return { kind: 'unknown', evidence };
  const marked = markedProcesses(ATTEMPT_MARK, attemptId);
  evidence.push(
    marked.length > 0 ? `processes marked with the attempt live: ${pids(marked)}` : 'no marked process lives',
  );
  if (liveness === 'alive' || marked.length > 0) return { kind: 'orphaned', provider, marked, evidence };
  const hidden = hiddenProviders(paths, claim, record);
  if (hidden.length === 0) return { kind: 'gone', evidence };
  return { kind: 'unknown', evidence: [...evidence, `processes that cannot be looked into live: ${pids(hidden)}`] };
}
