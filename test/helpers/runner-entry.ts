import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The compiled runner: a test that starts one needs `npm run build` before it. */
export function runnerEntry(): string {
  const path = join(__dirname, '..', '..', 'dist', 'workers', 'runner', 'main.js');
  if (!existsSync(path)) throw new Error(`${path} is missing: build first`);
  return path;
}
