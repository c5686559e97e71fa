import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every text of a JSON value, and what each is when it is read as base64. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value, Buffer.from(value, 'base64').toString('latin1')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => [name, ...textsOf(each)]);
}

/** Files of a directory that hold a text, byte for byte: SQLite keeps blobs as they are. */
export const filesWith = (directory: string, text: string): string[] =>
  readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(text));
