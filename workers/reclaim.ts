import { linkSync, readdirSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { ActivityNotFoundError } from '@temporalio/client';
import { errorCode } from '../activities/provider/thrown';
import { followersDirectory, readFollower } from '../activities/provider/followers';
import { isSameProcess } from '../activities/provider/process-identity';
import type { ActivityKey } from '../activities/provider/provider-deps';

const STEP_MS = 1_000;
/** A note that was taken and not settled for this long is free again: its taker died. */
const TAKEN_MS = 30_000;
const TAKEN = '.taken';
/** Until then the server has dropped the dead worker's polls; at once, it may hand the next try to one of them: lost. */
const NEXT_TRY = '500 milliseconds';

/** The part of a Temporal client that ends an activity from outside. */
export interface ActivityFailer {
  readonly activity: { fail(id: ActivityKey, error: Error): Promise<void> };
}

export interface ReclaimOptions {
  readonly home: string;
  readonly client: ActivityFailer;
}

function notes(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Moves a file; false when somebody else was faster. */
function tryMove(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Puts a note back unless a newer one is there. */
function giveBack(taken: string, path: string): void {
  try {
    linkSync(taken, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  unlinkSync(taken);
}

const isOfDeadWorker = (path: string): boolean => {
  const note = readFollower(path);
  return note.kind === 'found' && isSameProcess(note.value.worker) === 'dead';
};

/** Fails the activity of one dead worker, so that the server starts its next try soon. */
async function settle(taken: string, path: string, client: ActivityFailer): Promise<void> {
  const note = readFollower(taken);
  if (note.kind !== 'found' || isSameProcess(note.value.worker) !== 'dead') {
    giveBack(taken, path);
    return;
  }
  const message = 'the worker that followed this run is gone';
  const gone = ApplicationFailure.create({ message, type: 'worker_gone', nextRetryDelay: NEXT_TRY });
  try {
    await client.activity.fail(note.value.activity, gone);
  } catch (error) {
    if (!(error instanceof ActivityNotFoundError)) {
      giveBack(taken, path);
      return;
    }
  }
  unlinkSync(taken);
}

/** Looks once at the notes of followers; gives how many runs of dead workers it handed on. */
export async function reclaimOnce({ home, client }: ReclaimOptions): Promise<number> {
  let reclaimed = 0;
  for (const path of notes(followersDirectory(home))) {
    if (path.endsWith(TAKEN)) {
      const since = statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? Date.now();
      if (Date.now() - since > TAKEN_MS) tryMove(path, path.slice(0, -TAKEN.length));
    } else if (path.endsWith('.json') && isOfDeadWorker(path) && tryMove(path, `${path}${TAKEN}`)) {
      await settle(`${path}${TAKEN}`, path, client);
      reclaimed += 1;
    }
  }
  return reclaimed;
}

/** Takes over the runs of workers that died on this host, every second; returns what ends it. */
export function startReclaim(options: ReclaimOptions): { stop(): void } {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const step = async (): Promise<void> => {
    try {
      await reclaimOnce(options);
    } catch (error) {
      process.stderr.write(`perdure: could not look for runs of dead workers: ${String(error)}\n`);
    }
    if (!isStopped) timer = setTimeout(() => void step(), STEP_MS);
  };
  void step();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
