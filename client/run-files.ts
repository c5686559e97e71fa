import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Attempt } from '../contract/run';
import type { Executor } from '../contract/task';
import { refuse } from './outcome';
import type { Session } from './session';

/** What a client needs of the order that a host gave to the runner. */
const requestSchema = z.looseObject({ cwd: z.string() });
/** What the runner writes down as soon as it has started the provider. */
const runnerSchema = z.looseObject({ startedAt: z.string() });

/** Whether an attempt has not ended and its files are in this home: the record learns what they say at its end. */
export const isOpenHere = ({ home }: Session, { endedAt, hostId }: Pick<Attempt, 'endedAt' | 'hostId'>): boolean =>
  endedAt === null && hostId === home.hostId;

/** Whether there is anything under a path. */
export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Where an attempt's files are in this home. */
export const runDirectory = ({ home }: Session, attemptId: string): string => join(home.path, 'runs', attemptId);

/** Directory of an attempt and the file of its provider's events; refused, about `what`, when this home has them not. */
export async function findRunFiles(
  session: Session,
  { attemptId, hostId }: Pick<Attempt, 'attemptId' | 'hostId'>,
  what: string,
): Promise<{ attemptId: string; directory: string; path: string }> {
  const directory = runDirectory(session, attemptId);
  if (hostId !== session.home.hostId || !(await isThere(directory))) {
    return refuse('LOG_ELSEWHERE', `the log of ${what} is not in this home (its host is ${hostId})`);
  }
  if (await isThere(join(directory, 'removed'))) refuse('LOG_REMOVED', `the output of ${what} was removed`);
  return { attemptId, directory, path: join(directory, 'stdout.jsonl') };
}

/** Spawns of an open attempt, from the runner's own ledger. */
export async function spawnsSoFar(session: Session, attemptId: string): Promise<number> {
  const ledger = await readFile(join(runDirectory(session, attemptId), 'spawns.jsonl'), 'utf8').catch(() => '');
  return ledger.split('\n').filter((line) => line !== '').length;
}

/** Directory that an attempt works in, also of an open one on this host; null when it is not known. */
export async function workspacePathOf(session: Session, attempt: Attempt): Promise<string | null> {
  if (attempt.workspacePath !== null || !isOpenHere(session, attempt)) return attempt.workspacePath;
  const request = await readRunFile(session, attempt.attemptId, { name: 'request.json', schema: requestSchema });
  return request?.cwd ?? null;
}

/** When the provider of an executor was started, also of a run on this host that the record knows no start of yet. */
export async function startOf(session: Session, executor: Executor): Promise<string | null> {
  const { attemptId, hostId, startedAt } = executor;
  if (startedAt !== null || hostId !== session.home.hostId) return startedAt;
  const runner = await readRunFile(session, attemptId, { name: 'runner.json', schema: runnerSchema });
  return runner?.startedAt ?? null;
}

interface RunFile<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
}

/** A file of a run directory of this home; null when it is not there or says something else. */
async function readRunFile<T>(session: Session, attemptId: string, { name, schema }: RunFile<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(join(runDirectory(session, attemptId), name), 'utf8')));
  } catch {
    return null;
  }
}
