import { randomUUID } from 'node:crypto';
import { existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makePrivateDirectory, readGuarded, replaceFile, type Read } from './durable-file';
import { ownIdentity, type ProcessIdentity } from './process-identity';
import type { ActivityKey } from './provider-deps';

const identitySchema: z.ZodType<ProcessIdentity> = z.object({
  pid: z.int(),
  startTime: z.string(),
  bootId: z.string(),
  namespace: z.string(),
});
const entrySchema = z.object({
  token: z.string(),
  worker: identitySchema,
  activity: z.object({ workflowId: z.string(), runId: z.string(), activityId: z.string() }),
});
export type FollowerEntry = z.infer<typeof entrySchema>;

/** Folder of the notes by which a restarted worker finds the runs that a dead one followed. */
export const followersDirectory = (home: string): string => join(home, 'followers');

/** Reads a note; one of another shape is unreadable. */
export const readFollower = (path: string): Read<FollowerEntry> =>
  readGuarded(path, (value): value is FollowerEntry => entrySchema.safeParse(value).success);

/** Notes that this process follows an attempt; the returned function takes back this note and no later one. */
export function noteFollower(home: string, attemptId: string, activity: ActivityKey): () => void {
  const directory = followersDirectory(home);
  makePrivateDirectory(directory);
  const path = join(directory, `${attemptId}.json`);
  const entry: FollowerEntry = { token: randomUUID(), worker: ownIdentity(), activity };
  // Not flushed: after a crash of the machine the server's heartbeat timeout does it.
  replaceFile(path, JSON.stringify(entry), { isDurable: false });
  return () => {
    const found = readFollower(path);
    if (found.kind === 'found' && found.value.token === entry.token && existsSync(path)) unlinkSync(path);
  };
}
