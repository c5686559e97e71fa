import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attempt } from '../contract/run';
import { errnoOf, refuse } from './outcome';
import { isOpenHere, isThere, runDirectory } from './run-files';
import type { Session } from './session';

const LOOK_MS = 200;
/** Longer than the runner's whole escalation. */
const PATIENCE_MS = 30_000;

/** What is to be known of a run to find it on this host. */
type LostRun = Pick<Attempt, 'attemptId' | 'hostId' | 'endedAt'>;

/**
 * Stops a run whose workflow was ended from outside, on this host: the runner obeys the stop file of its directory, and
 * says in `exit.json` when nothing of the run is left. False when there is no such run here.
 */
export async function stopLostRun(session: Session, attempt: LostRun | undefined): Promise<boolean> {
  if (attempt === undefined || !isOpenHere(session, attempt)) return false;
  const directory = runDirectory(session, attempt.attemptId);
  const exit = join(directory, 'exit.json');
  if (!(await isThere(join(directory, 'claim'))) || (await isThere(exit))) return false;
  const stop = JSON.stringify({ reason: 'user', at: new Date().toISOString() });
  await writeFile(join(directory, 'stop'), stop, { flag: 'wx', mode: 0o600, flush: true }).catch(tolerateExisting);
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if (await isThere(exit)) return true;
    await sleep(LOOK_MS);
  }
  return refuse('TASK_NOT_RUNNING', `the run ${attempt.attemptId} has no workflow any more and did not end in time`, {
    hint: `Its runner is named in ${join(directory, 'claim')}.`,
    retryable: true,
  });
}

function tolerateExisting(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error;
}
