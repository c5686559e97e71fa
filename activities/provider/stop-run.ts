import { basename } from 'node:path';
import type { StopOrder } from '../../contract/activities';
import { watchDirectory } from './directory-watch';
import { makePrivateDirectory } from './durable-file';
import { executorState, isTaken } from './executor-state';
import { endOrphan } from './orphan-ending';
import { ESCALATION, type ProviderDeps } from './provider-deps';
import { readExit, requestStop, runPaths, type RunPaths } from './run-directory';

const LOOK_MS = 250;
const PATIENCE_MS = 30_000;

/** Makes a stop durable on this host, then waits until nothing of the attempt is left; a second stop answers alike. */
export async function stopRun(deps: ProviderDeps, { attemptId, reason }: StopOrder): Promise<{ ended: boolean }> {
  const paths = runPaths(deps.home, attemptId);
  makePrivateDirectory(paths.directory);
  requestStop(paths, reason);
  // A runner looks for the stop after it took the attempt: what is not taken now will never start a provider.
  if (!isTaken(paths)) return { ended: true };
  const watch = watchDirectory(paths.directory, (name) => name === basename(paths.exit));
  try {
    return { ended: await waitForEnd(deps, attemptId, { paths, next: () => watch.next(LOOK_MS) }) };
  } finally {
    watch.close();
  }
}

interface Waiting {
  readonly paths: RunPaths;
  next(): Promise<void>;
}

async function waitForEnd(deps: ProviderDeps, attemptId: string, { paths, next }: Waiting): Promise<boolean> {
  const until = Date.now() + PATIENCE_MS;
  for (let timesGone = 0; Date.now() < until;) {
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
