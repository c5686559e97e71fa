import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** A line of a key file, of a key that nobody else has. */
export const newKeyLine = (id: string): string => `${id} ${randomBytes(32).toString('base64')}`;

/** Writes a key file as the product asks for it; answers its path. */
export function writeKeys(path: string, lines: readonly string[], mode = 0o600): string {
  writeFileSync(path, `${lines.join('\n')}\n`, { mode });
  return path;
}
