import { closeSync, existsSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOnce, syncDirectory, type Read } from '../../activities/provider/durable-file';
import { endMarked } from '../../activities/provider/process-ending';
import { identityOf, ownIdentity, type ProcessIdentity } from '../../activities/provider/process-identity';
import { isPast, sharedClockMs } from '../../activities/provider/run-clock';
import {
  pendingStop,
  readRequest,
  writeRecord,
  type ExitRecord,
  type RunPaths,
  type RunnerRecord,
  type RunRequest,
  type SpawnError,
} from '../../activities/provider/run-directory';
import { errorCode, errorMessage } from '../../activities/provider/thrown';
import { startProvider, type ProviderProcess } from './provider-process';
import { startProblem } from './start-problem';
import { superviseProvider } from './supervision';

const WRITE_TRIES = 600;
const WRITE_PAUSE_MS = 1_000;

const now = (): string => new Date().toISOString();

const NOTHING_RAN = {
  code: null,
  signal: null,
  startedAt: null,
  reason: null,
  stopReason: null,
  forced: false,
  strays: 0,
};

function recordSpawn(paths: RunPaths, request: RunRequest, at: string): void {
  const descriptor = openSync(paths.ledger, 'ax', 0o600);
  writeSync(descriptor, `${JSON.stringify({ at, command: request.command })}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  syncDirectory(paths.directory);
}

function identify(provider: ProviderProcess, runner: ProcessIdentity): ProcessIdentity {
  // Its exit is only taken after this, so the pid is still its own, if only as a zombie.
  return identityOf(provider.pid) ?? { ...runner, pid: provider.pid, startTime: 'ended at once' };
}

/** Writes a record however long the disk stays full: with a provider's end in hand, giving up would lose it. */
async function persist(path: string, record: ExitRecord): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      writeRecord(path, record);
      return;
    } catch (error) {
      if (tries === WRITE_TRIES) throw error;
      await sleep(WRITE_PAUSE_MS);
    }
  }
}

/** What keeps the provider from being started, if anything does. */
function obstacle(paths: RunPaths, request: Read<RunRequest>, termination: AbortSignal): Partial<ExitRecord> | null {
  if (request.kind !== 'found') {
    const message = request.kind === 'unreadable' ? request.why : 'the request is missing';
    return { spawnError: { code: 'EREQUEST', message, subject: 'command' } };
  }
  const stopReason = pendingStop(paths) ?? (termination.aborted ? 'terminated' : null);
  if (stopReason !== null) return { reason: 'stop', stopReason };
  if (isPast(request.value.deadlineAt)) return { reason: 'deadline' };
  const spawnError = startProblem(request.value);
  return spawnError === null ? null : { spawnError };
}

/** Starts the provider, its ledger entry first; `taken` when another runner has one in the ledger. */
async function spawnOnce(
  paths: RunPaths,
  request: RunRequest,
  at: string,
): Promise<ProviderProcess | SpawnError | 'taken'> {
  try {
    recordSpawn(paths, request, at);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return 'taken';
    return { code: errorCode(error), message: errorMessage(error), subject: 'command' };
  }
  return startProvider(paths, request);
}

function recordRunner(path: string, record: RunnerRecord): void {
  try {
    writeRecord(path, record);
  } catch (error) {
    // The provider runs already and its mark still finds it: going on without the record is the lesser evil.
    process.stderr.write(`${errorMessage(error)}\n`);
  }
}

/**
 * Takes the attempt, runs its provider once, and writes down how it ended; does nothing if another took it.
 * `termination` ends the provider as a stop does.
 */
export async function runAttempt(paths: RunPaths, termination: AbortSignal): Promise<void> {
  const runner = ownIdentity();
  // A claim may have been deleted; what a runner left behind it is as good.
  if ([paths.ledger, paths.runner, paths.exit].some((path) => existsSync(path))) return;
  if (!createOnce(paths.claim, JSON.stringify(runner))) return;
  const finish = (exit: Partial<ExitRecord>): Promise<void> =>
    persist(paths.exit, { ...NOTHING_RAN, spawnError: null, endedAt: now(), ...exit });
  const read = readRequest(paths);
  const hindered = obstacle(paths, read, termination);
  if (hindered !== null || read.kind !== 'found') {
    await finish(hindered ?? {});
    return;
  }
  const request = read.value;
  const startedAt = now();
  const startedClockMs = sharedClockMs();
  const provider = await spawnOnce(paths, request, startedAt);
  if (provider === 'taken') return;
  if ('subject' in provider) {
    await finish({ spawnError: provider });
    return;
  }
  const identity = identify(provider, runner);
  recordRunner(paths.runner, { runner, provider: identity, startedAt, startedClockMs });
  const run = { paths, request, provider, identity, termination };
  const { noted, ...end } = await superviseProvider(run);
  const { code, signal } = await provider.ended;
  const strays = await endMarked(request.attemptId, noted());
  await finish({ code, signal, startedAt, ...end, strays });
}
