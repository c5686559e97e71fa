import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { refuse } from '../../client/outcome';
import { createJson, hasCode, replaceJson } from './atomic-file';
import { identityOf, isAlive, processIdentitySchema } from './process-identity';

const holderSchema = processIdentitySchema.extend({ address: z.string().optional() });
type Holder = z.infer<typeof holderSchema>;

/** The one `perdure up` of a home. */
export interface HomeLock {
  /** Tells a second `up` which address this one serves. */
  tellAddress(address: string): Promise<void>;
  release(): Promise<void>;
}

const TRIES = 200;
const RETRY_MS = 25;

/** Takes the home for this process, or refuses with HOME_BUSY; the lock of a dead process is replaced. */
export async function lockHome(home: string): Promise<HomeLock> {
  const file = join(home, 'up.json');
  const own = identityOf(process.pid);
  if (own === undefined) throw new Error('this process cannot see itself in the process table');
  for (let tried = 0; tried < TRIES; tried++) {
    if (await createJson(file, own)) return heldLock(file, own);
    const text = await readText(file);
    if (text === undefined) continue;
    const holder = parseHolder(text);
    if (holder && isAlive(holder)) return refuseBusy(home, holder);
    if (await replaceStale(file, text, own)) return heldLock(file, own);
    await sleep(RETRY_MS);
  }
  return refuse('HOME_BUSY', `${file} is being taken by other processes`);
}

function refuseBusy(home: string, { pid, address }: Holder): never {
  const where = address === undefined ? ', which is starting' : ` at ${address}`;
  return refuse('HOME_BUSY', `perdure up runs for ${home} already: pid ${String(pid)}${where}`);
}

/**
 * Puts our lock in the place of a dead process's. Only who holds the marker of exactly that stale lock may, so of
 * several that see it one wins, and one that comes late finds another text in the file.
 */
async function replaceStale(file: string, stale: string, own: Holder): Promise<boolean> {
  const marker = `${file}.${createHash('sha256').update(stale).digest('hex').slice(0, 16)}`;
  if (!(await createJson(marker, own))) {
    const taker = parseHolder((await readText(marker)) ?? '');
    if (taker && !isAlive(taker)) await rm(marker, { force: true });
    return false;
  }
  try {
    if ((await readText(file)) !== stale) return false;
    await replaceJson(file, own);
    return true;
  } finally {
    await rm(marker, { force: true });
  }
}

function heldLock(file: string, own: Holder): HomeLock {
  return {
    tellAddress: (address) => replaceJson(file, { ...own, address }),
    release: async () => {
      const holder = parseHolder((await readText(file)) ?? '');
      if (holder?.pid === own.pid && holder.startTime === own.startTime) await rm(file, { force: true });
    },
  };
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** What a lock file says, or undefined when it says nothing that can be read: it belongs to nobody then. */
function parseHolder(text: string): Holder | undefined {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
