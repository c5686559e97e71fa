import { randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOnce, readGuarded, replaceFile } from '../provider/durable-file';
import { isSameProcess, ownIdentity, type ProcessIdentity } from '../provider/process-identity';
import { isIdentity } from '../provider/run-directory';

const LOOK_MS = 100;
/** How long another maker that lives is waited for; beyond it, it is taken to be frozen. */
const PATIENCE_MS = 60_000;

interface Note {
  readonly token: string;
  readonly maker: ProcessIdentity;
}

const isNote = (value: unknown): value is Note => {
  if (typeof value !== 'object' || value === null || !('token' in value) || !('maker' in value)) return false;
  return typeof value.token === 'string' && isIdentity(value.maker);
};

/** The right to make a workspace, held by one process at a time. */
export interface MakerLock {
  /** False when another maker took it over, because this one seemed dead or frozen. */
  isHeld(): boolean;
  release(): void;
}

export interface Contest {
  /** Whether what the lock is for is there meanwhile. */
  isDone(): boolean;
  /** Ends what the former maker left running. */
  endFormer(): Promise<void>;
}

/** Gives the lock at `path`, after a maker that lives and before one that is dead; null when it is done meanwhile. */
export async function takeMakerLock(path: string, contest: Contest): Promise<MakerLock | null> {
  const token = randomUUID();
  const note = JSON.stringify({ token, maker: ownIdentity() } satisfies Note);
  const held = (): MakerLock => ({
    isHeld: () => isOwn(path, token),
    release() {
      if (isOwn(path, token)) unlinkSync(path);
    },
  });
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    if (contest.isDone()) return null;
    if (createOnce(path, note)) return held();
    if (!isWorking(path) || Date.now() >= until) {
      // First the lock, then the processes: a former maker that wakes must see that it has lost it.
      replaceFile(path, note, { isDurable: true });
      await contest.endFormer();
      if (isOwn(path, token)) return held();
    }
    await sleep(LOOK_MS);
  }
}

function isOwn(path: string, token: string): boolean {
  const found = readGuarded(path, isNote);
  return found.kind === 'found' && found.value.token === token;
}

/** Whether another process is, as far as can be told, at it; calls within this one wait for each other by themselves. */
function isWorking(path: string): boolean {
  const found = readGuarded(path, isNote);
  if (found.kind !== 'found') return false;
  return found.value.maker.pid !== process.pid && isSameProcess(found.value.maker) !== 'dead';
}
