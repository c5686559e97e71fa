import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ATTEMPT_MARK } from '../../contract/marks';

const run = promisify(execFile);

/** Runs git in a directory and answers its output. */
export type Git = (directory: string, ...args: string[]) => Promise<string>;

/**
 * A git without hooks, prompts or the caller's own git environment. Its processes carry a mark, by which what a killed
 * worker left running is found again; `guard` throws when nothing may be done any more.
 */
export function markedGit(mark: string, guard: () => void): Git {
  return async (directory, ...args) => {
    guard();
    const { PATH, HOME, LANG } = process.env;
    const { stdout } = await run('git', ['-c', 'core.hooksPath=/dev/null', ...args], {
      cwd: directory,
      env: { PATH, HOME, LANG, GIT_TERMINAL_PROMPT: '0', [ATTEMPT_MARK]: mark },
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout.trim();
  };
}
