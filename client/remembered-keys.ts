import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf, messageOf, refuse } from './outcome';

const rememberedSchema = z.looseObject({ keyIds: z.array(z.string()).min(1) });

/** File by which a home remembers that its workers encrypt: the ids of their keys, and no key. */
export const encryptionFile = (home: string): string => join(home, 'encryption.json');

/** Remembers the keys of a worker of this home; without keys there is nothing to remember, and nothing is forgotten. */
export function rememberKeys(home: string, keyIds: readonly string[]): void {
  if (keyIds.length === 0) return;
  const file = encryptionFile(home);
  const draft = `${file}.${String(process.pid)}`;
  try {
    writeFileSync(draft, `${JSON.stringify({ keyIds })}\n`, { mode: 0o600, flush: true });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Refuses to say anything in clear from a home whose workers encrypt. */
export function refuseClear(home: string, keyIds: readonly string[]): void {
  if (keyIds.length > 0) return;
  const known = remembered(encryptionFile(home));
  if (known.length === 0) return;
  refuse(
    'PAYLOAD_KEY_MISSING',
    `workers of this home encrypt by the key ${known.join(', ')}; this process has no keys, and nothing was sent`,
    {
      hint: `Name the file of keys by PERDURE_PAYLOAD_KEYS. Encryption was switched off? Remove ${encryptionFile(home)}.`,
    },
  );
}

function remembered(file: string): string[] {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    return refuse('PAYLOAD_KEY_MISSING', `${file} cannot be read (${messageOf(error)}), and this process has no keys`);
  }
  // What cannot be read may have said that the workers encrypt.
  const parsed = rememberedSchema.safeParse(parseJson(content));
  return parsed.success ? parsed.data.keyIds : ['?'];
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
