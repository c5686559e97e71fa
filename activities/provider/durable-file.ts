// Import-light on purpose: the runner loads this.
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './thrown';

let written = 0;

/** What a file of ours holds; torn or foreign content is an answer of its own, never a crash. */
export type Read<T> = { kind: 'absent' } | { kind: 'unreadable'; why: string } | { kind: 'found'; value: T };

/** Makes names in a directory survive a power cut. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a directory that only its owner can look into. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
}

function writeTemporary(path: string, content: string, isDurable: boolean): string {
  written += 1;
  const temporary = `${path}.${String(process.pid)}-${String(written)}.tmp`;
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(descriptor, content);
    if (isDurable) fsyncSync(descriptor);
  } catch (error) {
    discard(temporary);
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return temporary;
}

/** Removes a file that nothing depends on; one that stays is judged again by its content. */
export function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or the disk is broken.
  }
}

/** Replaces a file in one step: readers see the old content or the new, whole. */
export function replaceFile(path: string, content: string, { isDurable }: { isDurable: boolean }): void {
  const temporary = writeTemporary(path, content, isDurable);
  try {
    renameSync(temporary, path);
  } catch (error) {
    discard(temporary);
    throw error;
  }
  if (isDurable) syncDirectory(dirname(path));
}

/** Creates a file with its whole content unless it exists; tells whether this call made it. */
export function createOnce(path: string, content: string): boolean {
  const temporary = writeTemporary(path, content, true);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    discard(temporary);
  }
  syncDirectory(dirname(path));
  return true;
}

/** Reads a JSON file of ours through a guard. */
export function readGuarded<T>(path: string, guard: (value: unknown) => value is T): Read<T> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return guard(value) ? { kind: 'found', value } : { kind: 'unreadable', why: `${path} has another shape` };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'absent' };
    return { kind: 'unreadable', why: `${path}: ${errorCode(error) || 'is not JSON'}` };
  }
}
