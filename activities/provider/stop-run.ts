import { basename } from 'node:path';
import type { StopOrder } from '../../contract/activities';
import { endLeftTurn } from './app-server-turn';
import { watchDirectory } from './directory-watch';
import { makePrivateDirectory } from './durable-file';
import { executorState, isTaken, runsByMarks } from './executor-state';
import { endOrphan } from './orphan-ending';
import { signalProcess } from './process-ending';
import { isSameProcess } from './process-identity';
import { ESCALATION, type ProviderDeps } from './provider-deps';
import { readExit, readRunner, requestStop, runPaths, type RunPaths } from './run-directory';

const LOOK_MS = 250;
/** How much longer than the escalation a runner may take before it is taken to hang. */
const PATIENCE_MS = 15_000;
/** How long a runner that hung may take to record what was ended for it. */
const RECORD_MS = 2_000;

/** Makes a stop durable on this host, then waits until nothing of the attempt is left; a second stop answers alike. */
export async function stopRun(deps: ProviderDeps, { attemptId, reason }: StopOrder): Promise<{ ended: boolean }> {
  const paths = runPaths(deps.home, attemptId);
  makePrivateDirectory(paths.directory);
  requestStop(paths, reason);
  // A runner looks for the stop after it took the attempt: what is not taken now will never start a provider.
  if (!isTaken(paths) && !runsByMarks(attemptId)) return { ended: true };
  const watch = watchDirectory(paths.directory, (name) => name === basename(paths.exit));
  const stopping = { deps, attemptId, paths, next: () => watch.next(LOOK_MS) };
  try {
    const [interrupt, terminate] = deps.escalation ?? ESCALATION;
    const hasEnded = await waitForEnd(stopping, interrupt + terminate + PATIENCE_MS);
    if (hasEnded || (await endDespiteRunner(stopping))) {
      await endLeftTurn(paths, attemptId);
      return { ended: true };
    }
  } finally {
    watch.close();
  }
  throw new Error(`the attempt has not ended yet: ${executorState(paths, attemptId).evidence.join('; ')}`);
}

interface Stopping {
  readonly deps: ProviderDeps;
  readonly attemptId: string;
  readonly paths: RunPaths;
  next(): Promise<void>;
}

async function waitForEnd({ deps, attemptId, paths, next }: Stopping, patienceMs: number): Promise<boolean> {
  const until = performance.now() + patienceMs;
  for (let timesGone = 0; performance.now() < until;) {
    if (readExit(paths).kind === 'found') return true;
    const state = executorState(paths, attemptId);
    timesGone = state.kind === 'gone' ? timesGone + 1 : 0;
    if (timesGone > 1) return true;
    if (state.kind === 'orphaned') {
      await endOrphan({ paths, attemptId, provider: state.provider }, deps.escalation ?? ESCALATION);
    }
    await next();
  }
  return false;
}

/** Does a hanging runner's duty; false when which process its provider is, or that it ended, cannot be proven. */
async function endDespiteRunner(stopping: Stopping): Promise<boolean> {
  const { deps, attemptId, paths } = stopping;
  const record = readRunner(paths);
  if (record.kind !== 'found') return false;
  const { provider, runner } = record.value;
  if (isSameProcess(provider) === 'unknown') return false;
  await endOrphan({ paths, attemptId, provider }, deps.escalation ?? ESCALATION);
  if (isSameProcess(provider) !== 'dead') return false;
  if (await waitForEnd(stopping, RECORD_MS)) return true;
  // With nothing left to own it only keeps its follower from seeing the end.
  signalProcess(runner, 'SIGKILL');
  return waitForEnd(stopping, RECORD_MS);
}
