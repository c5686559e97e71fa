import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTEMPT_MARK } from '../../contract/marks';
import type { CriterionResult } from '../../contract/run';
import { endMarked } from '../provider/process-ending';
import { codexHomeOf, secretValues } from '../provider/provider-environment';
import { redact } from '../provider/redaction';
import { workMark } from './left-overs';

/** Longest run of one check, in milliseconds (CK-15). */
const CHECK_MS = 10 * 60_000;
/** How long the output of a check that ended may still be held open by something that left its group. */
const DRAIN_MS = 500;
/** Characters of output kept while a check runs, and what the record gets of it. */
const KEPT = 65_536;
const SHOWN = 1_000;

// eslint-disable-next-line no-control-regex -- they are what is cleaned away
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Runs one acceptance command in a workspace, in a process group of its own that ends with it. */
export async function checkCriterion(
  command: string,
  workspace: string,
  signal?: AbortSignal,
): Promise<CriterionResult> {
  const { PATH, HOME, LANG, TMPDIR, USER, SHELL } = process.env;
  const mark = workMark('check', workspace, command);
  // A worker that was killed leaves its check running: two at once would disturb each other.
  await endMarked(mark);
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: workspace,
    env: { PATH, HOME, LANG, TMPDIR, USER, SHELL, [ATTEMPT_MARK]: mark },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const endNow = (): void => {
    endGroup(child);
  };
  const timer = setTimeout(endNow, CHECK_MS);
  signal?.addEventListener('abort', endNow);
  const closed = once(child, 'close').catch(() => undefined);
  const { exitCode, note } = await ending(child);
  clearTimeout(timer);
  signal?.removeEventListener('abort', endNow);
  endGroup(child);
  await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
  child.stdout.destroy();
  child.stderr.destroy();
  // The command has none of our variables, but it may print a file that holds the same.
  const secrets = secretValues(process.env, codexHomeOf(process.env, null));
  const shown = redact(`${output.text}${note}`, secrets).replaceAll(CONTROL, ' ').slice(-SHOWN);
  return { command, met: exitCode === 0, exitCode, output: shown, digest: `sha256:${output.hash.digest('hex')}` };
}

function collect({ stdout, stderr }: ChildProcess): { text: string; readonly hash: Hash } {
  const output = { text: '', hash: createHash('sha256') };
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output.text = (output.text + chunk).slice(-KEPT);
      output.hash.update(chunk);
    });
  }
  return output;
}

async function ending(child: ChildProcess): Promise<{ exitCode: number | null; note: string }> {
  try {
    const [exitCode, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return { exitCode, note: signal === null ? '' : `ended by ${signal}` };
  } catch (error) {
    return { exitCode: null, note: `could not run: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Ends what is left of a group that we made; its leader's pid is not reused while a member lives. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
}
