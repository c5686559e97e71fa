import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Attempt } from '../contract/run';
import type { Session } from './session';

/** What a client needs of the order that a host gave to the runner. */
const requestSchema = z.looseObject({ cwd: z.string() });

/** Whether an attempt has not ended and its files are in this home: the record learns what they say at its end. */
export const isOpenHere = ({ home }: Session, { endedAt, hostId }: Attempt): boolean =>
  endedAt === null && hostId === home.hostId;

/** Spawns of an open attempt, from the runner's own ledger. */
export async function spawnsSoFar({ home }: Session, attemptId: string): Promise<number> {
  const ledger = await readFile(join(home.path, 'runs', attemptId, 'spawns.jsonl'), 'utf8').catch(() => '');
  return ledger.split('\n').filter((line) => line !== '').length;
}

/** Directory that an attempt works in, also of an open one on this host; null when it is not known. */
export async function workspacePathOf(session: Session, attempt: Attempt): Promise<string | null> {
  if (attempt.workspacePath !== null || !isOpenHere(session, attempt)) return attempt.workspacePath;
  try {
    const file = join(session.home.path, 'runs', attempt.attemptId, 'request.json');
    return requestSchema.parse(JSON.parse(await readFile(file, 'utf8'))).cwd;
  } catch {
    return null;
  }
}
