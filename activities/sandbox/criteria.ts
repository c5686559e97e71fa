import { spawn } from 'node:child_process';
import type { CriterionResult } from '../../contract/run';

/** Longest run of one check, in milliseconds (CK-15). */
const CHECK_MS = 10 * 60_000;
/** Output kept while a check runs, and what the record gets of it, in characters. */
const KEPT = 65_536;
const SHOWN = 1_000;

// eslint-disable-next-line no-control-regex -- they are what is cleaned away
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Runs one acceptance command in a workspace, in a process group of its own that ends with it. */
export function checkCriterion(command: string, workspace: string): Promise<CriterionResult> {
  const { PATH, HOME, LANG, TMPDIR, USER, SHELL } = process.env;
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: workspace,
    env: { PATH, HOME, LANG, TMPDIR, USER, SHELL },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-KEPT);
  };
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const timer = setTimeout(() => {
    endGroup(child.pid);
  }, CHECK_MS);
  return new Promise((resolve) => {
    const settle = (exitCode: number | null, note: string) => {
      clearTimeout(timer);
      endGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      const shown = (output + note).replaceAll(CONTROL, ' ').slice(-SHOWN);
      resolve({ command, met: exitCode === 0, exitCode, output: shown });
    };
    child.once('error', (error) => {
      settle(null, `could not run: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      settle(code, signal === null ? '' : `ended by ${signal}`);
    });
  });
}

/** Ends what is left of a group that we made; its leader's pid is not reused while a member lives. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
}
