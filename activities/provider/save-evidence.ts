import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Snapshot } from '../../contract/incident';
import type { TaskKey } from '../../contract/names';
import { printable } from '../../contract/text';
import { readingGit } from './reading-git';
import { replaceFile } from './durable-file';
import { OutputFollower } from './output-follower';
import { plainText } from './plain-text';
import type { ProviderDeps } from './provider-deps';
import { codexHomeOf, secretValues } from './provider-environment';
import { redact } from './redaction';
import { readRequest, runPaths } from './run-directory';
import { lastLines } from './file-tail';

const run = promisify(execFile);

const MESSAGE_CHARACTERS = 4_000;
const EVENTS = 10;
const CHANGES = 100;
/** Characters of a diff in the record; the host keeps more of it beside the output. */
const DIFF_CHARACTERS = 8_000;
const DIFF_BYTES = 4 * 1024 * 1024;

/** Reads what is left of an attempt: its last words, and what differs in its workspace. It changes nothing there. */
export async function saveEvidence(
  deps: ProviderDeps,
  { attemptId }: { attemptId: string; task: TaskKey },
): Promise<Snapshot> {
  const paths = runPaths(deps.home, attemptId);
  const read = readRequest(paths);
  const request = read.kind === 'found' ? read.value : null;
  const secrets = secretValues(deps.env, request?.codexHome ?? codexHomeOf(deps.env, null));
  const { lastMessage, openTools } = await wordsOf(paths.stdout);
  const changes = request === null ? { names: [], diff: '' } : await changesIn(request.cwd);
  if (changes.diff !== '') replaceFile(paths.lostDiff, changes.diff, { isDurable: true });
  return {
    at: new Date().toISOString(),
    lastMessage: lastMessage === null ? null : clean(lastMessage, secrets, MESSAGE_CHARACTERS),
    events: (await lastLines(paths.stdout, EVENTS)).map((line) => plainText(line, secrets)),
    openTools,
    changes: changes.names.slice(0, CHANGES).map((name) => plainText(name, secrets)),
    diff: clean(changes.diff, secrets, DIFF_CHARACTERS),
    diffBytes: Buffer.byteLength(changes.diff),
    directory: paths.directory,
    workspacePath: request?.cwd ?? null,
  };
}

async function wordsOf(stdout: string): Promise<{ lastMessage: string | null; openTools: number }> {
  const output = new OutputFollower(stdout);
  try {
    while (!(await output.read(64 * 1024 * 1024))) continue;
    output.finish();
    return { lastMessage: output.events.lastMessage, openTools: output.events.openTools.size };
  } catch {
    return { lastMessage: null, openTools: 0 };
  } finally {
    await output.close();
  }
}

/** What git says differs from the last commit; nothing when it cannot tell. */
async function changesIn(directory: string): Promise<{ names: string[]; diff: string }> {
  const git = (...given: string[]) => {
    const { args, options } = readingGit(directory, ...given);
    return run('git', args, { ...options, maxBuffer: DIFF_BYTES, timeout: 20_000 }).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error instanceof Error && 'stdout' in error ? String(error.stdout) : ''),
    );
  };
  const names = (await git('status', '--porcelain')).split('\n').filter((line) => line !== '');
  return { names, diff: await git('diff', 'HEAD', '--no-ext-diff', '--no-textconv') };
}

/** Text of several lines that may be stored: without secrets and control characters, cut. */
const clean = (text: string, secrets: readonly string[], characters: number): string =>
  [...redact(printable(text.slice(0, 2 * characters), ' '), secrets)].slice(0, characters).join('');
