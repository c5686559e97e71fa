import { randomBytes } from 'node:crypto';
import { link, rename, rm, writeFile } from 'node:fs/promises';

/** Whether the system refused with one of these codes. Not by `instanceof`: jest's Error is not Node's. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && codes.some((code) => code === error.code);
}

/** Writes a whole JSON file or nothing of it, on disk before anyone sees it. */
export async function replaceJson(file: string, value: object): Promise<void> {
  const draft = await writeDraft(file, value);
  try {
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Like replaceJson, but only one of several processes wins: false when the file is there already. */
export async function createJson(file: string, value: object): Promise<boolean> {
  const draft = await writeDraft(file, value);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeDraft(file: string, value: object): Promise<string> {
  const draft = `${file}.${String(process.pid)}-${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(value)}\n`, { mode: 0o600, flush: true });
  return draft;
}
