import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs git in a directory, without hooks, prompts or the caller's own git environment; answers its output. */
export async function git(directory: string, ...args: string[]): Promise<string> {
  const { PATH, HOME, LANG } = process.env;
  const { stdout } = await run('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
    cwd: directory,
    env: { PATH, HOME, LANG, GIT_TERMINAL_PROMPT: '0' },
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.trim();
}
