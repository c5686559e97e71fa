import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const known = new Map<string, Promise<string | null>>();
const LONGEST = 100;

async function ask(binary: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  try {
    const { stdout } = await run(binary, ['--version'], { env, cwd: '/', timeout: 10_000, maxBuffer: 64 * 1024 });
    const line = stdout.split('\n')[0]?.trim() ?? '';
    return line === '' || line.length > LONGEST ? null : line;
  } catch {
    return null;
  }
}

/** What a binary says its version is, asked once for each file; null when it does not say. */
export async function cliVersion(binary: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const changed = statSync(binary, { throwIfNoEntry: false })?.mtimeMs;
  const key = `${binary} ${String(changed)}`;
  let answer = known.get(key);
  if (answer === undefined) {
    answer = ask(binary, env);
    known.set(key, answer);
  }
  return answer;
}
