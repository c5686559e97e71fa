import { open, readdir, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Most date folders that are looked into for a thread by its id. */
const MOST_FOLDERS = 2_000;
/** Most rollouts whose first line is read for a mark. */
const MOST_ROLLOUTS = 500;
/** Longest first line that is read; measured with 0.171.0: 22 KB. */
const FIRST_LINE = 1024 * 1024;
/** Bytes from its beginning in which a rollout has the first prompt, if it has one. */
const OPENING = 4 * 1024 * 1024;
const CHUNK = 64 * 1024;
/** Clocks of the file system and of the process may differ by this much. */
const SLACK_MS = 2_000;
const NAME = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/i;

/** File in which a Codex home keeps a thread. */
export interface RolloutFile {
  readonly path: string;
  readonly threadId: string;
  readonly isArchived: boolean;
}

const metaSchema = z.looseObject({
  type: z.literal('session_meta'),
  payload: z.looseObject({
    id: z.string(),
    thread_source: z.string().nullish(),
    cli_version: z.string().nullish(),
  }),
});

/** What the rollouts of a Codex home say of the thread that was begun with a mark. */
export type MarkedThread =
  | { readonly kind: 'found'; readonly threadId: string }
  /** The thread was begun, and ended before it took the prompt: to go on in it would say nothing of the task. */
  | { readonly kind: 'without_prompt'; readonly threadId: string }
  /** Nothing carries the mark, but empty rollouts of that time are there: Codex resumes none of those. */
  | { readonly kind: 'empty'; readonly threadIds: string[] }
  | { readonly kind: 'absent' };

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort().reverse();
  } catch {
    return [];
  }
}

/** Date folders of a home, newest first. */
async function* dateFolders(codexHome: string): AsyncGenerator<string> {
  const root = join(codexHome, 'sessions');
  for (const year of await namesIn(root)) {
    for (const month of await namesIn(join(root, year))) {
      for (const day of await namesIn(join(root, year, month))) yield join(root, year, month, day);
    }
  }
}

function rolloutsIn(folder: string, names: string[], isArchived: boolean): RolloutFile[] {
  return names.flatMap((name) => {
    const threadId = NAME.exec(name)?.[1];
    return threadId === undefined ? [] : [{ path: join(folder, name), threadId, isArchived }];
  });
}

/** Finds the rollout of a thread by its name alone; null when the home has none. */
export async function findRollout(codexHome: string, threadId: string): Promise<RolloutFile | null> {
  const isIt = (rollout: RolloutFile): boolean => rollout.threadId.toLowerCase() === threadId.toLowerCase();
  let left = MOST_FOLDERS;
  for await (const folder of dateFolders(codexHome)) {
    const found = rolloutsIn(folder, await namesIn(folder), false).find(isIt);
    if (found !== undefined) return found;
    left -= 1;
    if (left <= 0) break;
  }
  const archive = join(codexHome, 'archived_sessions');
  return rolloutsIn(archive, await namesIn(archive), true).find(isIt) ?? null;
}

/** Finds the thread that a run began with the mark, among the rollouts written since it began (epoch milliseconds). */
export async function findMarkedThread(codexHome: string, mark: string, since: number): Promise<MarkedThread> {
  const empty: string[] = [];
  let left = MOST_ROLLOUTS;
  for await (const folder of dateFolders(codexHome)) {
    for (const { path, threadId } of rolloutsIn(folder, await namesIn(folder), false)) {
      if (left <= 0) break;
      const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
      if (mtimeMs < since - SLACK_MS) continue;
      left -= 1;
      if (size === 0) empty.push(threadId);
      else if ((await markOf(path)) === mark) {
        return { kind: (await holdsPrompt(path)) ? 'found' : 'without_prompt', threadId };
      }
    }
    if (left <= 0 || isBefore(folder, since)) break;
  }
  return empty.length > 0 ? { kind: 'empty', threadIds: empty.slice(0, 5) } : { kind: 'absent' };
}

/** Whether a date folder is of a day before a moment, whatever the time zone. */
function isBefore(folder: string, since: number): boolean {
  const [year, month, day] = folder.split(/[\\/]/).slice(-3).map(Number);
  const end = Date.UTC(year ?? 0, (month ?? 1) - 1, (day ?? 1) + 2);
  return end < since;
}

const markOf = async (path: string): Promise<string | null> => (await metaOf(path))?.thread_source ?? null;

/** Version of the CLI that began the thread of a rollout, as `codex --version` prints it; null when it does not say. */
export async function beginnerOf(path: string): Promise<string | null> {
  const version = (await metaOf(path))?.cli_version;
  return version ? `codex-cli ${version}` : null;
}

async function metaOf(path: string): Promise<z.infer<typeof metaSchema>['payload'] | null> {
  const line = await withFile(path, (file) => readUntil(file, FIRST_LINE, '\n'));
  try {
    return metaSchema.parse(JSON.parse(line ?? '')).payload;
  } catch {
    return null;
  }
}

/** Whether the opening of a rollout has a message of the user; the first is the prompt. */
async function holdsPrompt(path: string): Promise<boolean> {
  const isHeld = async (type: string): Promise<boolean> =>
    (await withFile(path, (file) => readUntil(file, OPENING, `"type":"${type}"`))) !== null;
  return (await isHeld('UserMessage')) || (await isHeld('user_message'));
}

async function withFile<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T | null> {
  try {
    const file = await open(path, 'r');
    try {
      return await read(file);
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

/** Text up to the first occurrence of an ASCII word; null when it is not within so many bytes. */
async function readUntil(file: FileHandle, most: number, word: string): Promise<string | null> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  let text = '';
  for (let at = 0; at < most;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, at);
    if (bytesRead === 0) return null;
    const from = Math.max(text.length - word.length, 0);
    text += buffer.toString('latin1', 0, bytesRead);
    const end = text.indexOf(word, from);
    if (end !== -1) return Buffer.from(text.slice(0, end), 'latin1').toString('utf8');
    at += bytesRead;
  }
  return null;
}
