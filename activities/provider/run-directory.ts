// Import-light on purpose: the runner loads this.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '../../contract/run';
import type { AppServer } from './app-server';
import { createOnce, readGuarded, replaceFile, type Read } from './durable-file';
import type { Escalation } from './process-ending';
import type { ProcessIdentity } from './process-identity';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text is a UUID: nothing else becomes a path or an argument. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** What the runner is asked to do; holds no secret. */
export interface RunRequest {
  readonly attemptId: string;
  readonly command: string;
  readonly argv: string[];
  readonly cwd: string;
  readonly codexHome: string;
  /** Digest of who was logged in there when the attempt was made; absent where that is not known. */
  readonly login?: string;
  /** Version of the binary when the attempt was made; null when its package does not say. */
  readonly cliVersion: string | null;
  readonly timeMs: number;
  /** When it ends at the latest, by the wall clock. */
  readonly deadlineAt?: string;
  readonly outputBytes: number;
  readonly escalation: Escalation;
  /** The app server in which the provider takes the turn, because it has the thread open; absent for Codex itself. */
  readonly appServer?: AppServerOrder;
  /** Digest of what the workspace held before a review; null when git could not tell. */
  readonly workspaceBefore?: string | null;
  /** What the report is to say besides; absent when there is nothing. */
  readonly notes?: string[];
}

/** What is asked of an app server. */
export interface AppServerOrder extends AppServer {
  readonly threadId: string;
  readonly sandbox: Policy['sandbox'];
  /** Null for the thread's own. */
  readonly model: string | null;
}

export type StopReason = 'user' | 'cancelled' | 'inactive' | 'start_deadline' | 'terminated' | 'workspace_missing';
export interface StopRecord {
  readonly reason: StopReason;
  readonly at: string;
}

/** Who owns the attempt: written after the spawn. */
export interface RunnerRecord {
  readonly runner: ProcessIdentity;
  readonly provider: ProcessIdentity;
  readonly startedAt: string;
  /** The same moment by the clock that `sharedClockMs` reads. */
  readonly startedClockMs?: number;
}

export interface SpawnError {
  readonly code: string;
  readonly message: string;
  /** What could not be used. */
  readonly subject: 'command' | 'workspace';
}

/** How the attempt ended, as the runner saw it. */
export interface ExitRecord {
  readonly code: number | null;
  readonly signal: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string;
  /** Why the runner signalled the provider, or null when it did not. */
  readonly reason: 'stop' | 'deadline' | 'output_limit' | null;
  readonly stopReason: StopReason | null;
  /** Bytes that were printed when the first signal went out; absent when none did. */
  readonly printedBefore?: number;
  readonly forced: boolean;
  readonly strays: number;
  /** Milliseconds that the provider ran, without those that the machine slept; absent when none ran. */
  readonly ranMs?: number;
  readonly spawnError: SpawnError | null;
}

/** An id that must not become a path. */
export class AttemptIdError extends Error {}

/** Paths of one attempt's run directory. */
export function runPaths(home: string, attemptId: string) {
  if (!isUuid(attemptId)) throw new AttemptIdError('an attempt id must be a UUID');
  return pathsIn(join(home, 'runs', attemptId));
}
export type RunPaths = ReturnType<typeof pathsIn>;

/** Paths inside a run directory that is known. */
export function pathsIn(directory: string) {
  const at = (name: string): string => join(directory, name);
  return {
    directory,
    request: at('request.json'),
    reportSchema: at('report-schema.json'),
    lostDiff: at('workspace.diff'),
    prompt: at('prompt.txt'),
    claim: at('claim'),
    ledger: at('spawns.jsonl'),
    runner: at('runner.json'),
    runnerLog: at('runner.log'),
    stdout: at('stdout.jsonl'),
    stderr: at('stderr.log'),
    stop: at('stop'),
    exit: at('exit.json'),
    lastMessage: at('last-message.txt'),
    /** Made before an app server is asked for a turn: without it there is none. */
    turnAsked: at('turn-asked'),
    /** Made before a turn that its run left in an app server is interrupted: by us, and not by a person. */
    leftTurn: at('left-turn'),
    /** Since when the output is gone; the attempt was over long before. */
    removed: at('removed'),
  };
}

type Fields = Record<string, 'string' | 'number' | 'boolean'>;

function has(value: unknown, fields: Fields): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const found = new Map(Object.entries(value));
  return Object.entries(fields).every(([name, type]) => typeof found.get(name) === type);
}

const isNullable = (value: unknown, type: string): boolean => value === null || typeof value === type;

export const isIdentity = (value: unknown): value is ProcessIdentity =>
  has(value, { pid: 'number', startTime: 'string', bootId: 'string', namespace: 'string' });

const isRequest = (value: unknown): value is RunRequest =>
  has(value, {
    attemptId: 'string',
    command: 'string',
    cwd: 'string',
    codexHome: 'string',
    timeMs: 'number',
    outputBytes: 'number',
  }) &&
  isNullable(value['cliVersion'], 'string') &&
  Array.isArray(value['argv']) &&
  value['argv'].every((argument) => typeof argument === 'string') &&
  Array.isArray(value['escalation']);

const isRunnerRecord = (value: unknown): value is RunnerRecord =>
  has(value, { startedAt: 'string' }) && isIdentity(value['runner']) && isIdentity(value['provider']);

const isStop = (value: unknown): value is StopRecord => has(value, { reason: 'string', at: 'string' });

const isSpawnError = (value: unknown): boolean => has(value, { code: 'string', message: 'string', subject: 'string' });

const isExit = (value: unknown): value is ExitRecord =>
  has(value, { endedAt: 'string', forced: 'boolean', strays: 'number' }) &&
  isNullable(value['code'], 'number') &&
  isNullable(value['signal'], 'string') &&
  isNullable(value['startedAt'], 'string') &&
  isNullable(value['reason'], 'string') &&
  isNullable(value['stopReason'], 'string') &&
  (value['spawnError'] === null || isSpawnError(value['spawnError']));

export const readRequest = (paths: RunPaths): Read<RunRequest> => readGuarded(paths.request, isRequest);
export const readClaim = (paths: RunPaths): Read<ProcessIdentity> => readGuarded(paths.claim, isIdentity);
export const readRunner = (paths: RunPaths): Read<RunnerRecord> => readGuarded(paths.runner, isRunnerRecord);
export const readStop = (paths: RunPaths): Read<StopRecord> => readGuarded(paths.stop, isStop);
export const readExit = (paths: RunPaths): Read<ExitRecord> => readGuarded(paths.exit, isExit);

/** Reason of a stop that is already there; one that cannot be read is still a stop. */
export function pendingStop(paths: RunPaths): StopReason | null {
  const stop = readStop(paths);
  if (stop.kind === 'absent') return null;
  return stop.kind === 'found' ? stop.value.reason : 'user';
}

/** Makes a stop durable; the first reason stays. */
export function requestStop(paths: RunPaths, reason: StopReason): void {
  createOnce(paths.stop, JSON.stringify({ reason, at: new Date().toISOString() } satisfies StopRecord));
}

/** Writes a record of the runner so that it is whole and survives a crash. */
export function writeRecord(path: string, record: RunnerRecord | ExitRecord | RunRequest): void {
  replaceFile(path, JSON.stringify(record), { isDurable: true });
}

/** Provider processes that the ledger says were about to be started; the audit counts them. */
export function countSpawns(paths: RunPaths): number {
  try {
    return readFileSync(paths.ledger, 'utf8')
      .split('\n')
      .filter((line) => line !== '').length;
  } catch {
    return 0;
  }
}
