import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { watchDirectory } from '../../activities/provider/directory-watch';
import { familyOf, markedProcesses } from '../../activities/provider/marked-processes';
import { escalate, type StopSignal } from '../../activities/provider/process-ending';
import type { ProcessIdentity } from '../../activities/provider/process-identity';
import { isPast, RunClock } from '../../activities/provider/run-clock';
import { pendingStop, type ExitRecord, type RunPaths, type RunRequest } from '../../activities/provider/run-directory';
import { ATTEMPT_MARK } from '../../contract/marks';
import type { ProviderProcess } from './provider-process';

const LOOK_MS = 250;
/** How often the family is noted: a child that drops the mark and its parent is found by an earlier parent link. */
const NOTE_MS = 2_000;

export interface Supervised {
  readonly paths: RunPaths;
  readonly request: RunRequest;
  readonly provider: ProviderProcess;
  readonly identity: ProcessIdentity;
  readonly termination: AbortSignal;
}

type Cause = Pick<ExitRecord, 'reason' | 'stopReason' | 'printedBefore'>;
const NO_CAUSE: Cause = { reason: null, stopReason: null };

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function causeToEnd({ paths, request, termination }: Supervised, ranMs: number): Cause {
  const stopReason = pendingStop(paths);
  if (stopReason !== null) return { reason: 'stop', stopReason };
  if (termination.aborted) return { reason: 'stop', stopReason: 'terminated' };
  if (!existsSync(request.cwd)) return { reason: 'stop', stopReason: 'workspace_missing' };
  if (ranMs >= request.timeMs || isPast(request.deadlineAt)) return { ...NO_CAUSE, reason: 'deadline' };
  const printed = sizeOf(paths.stdout) + sizeOf(paths.stderr);
  return printed > request.outputBytes ? { ...NO_CAUSE, reason: 'output_limit' } : NO_CAUSE;
}

/** Watches until the provider ends, or ends it for a cause; `noted` lists the processes to look after then. */
export async function superviseProvider(run: Supervised) {
  const { paths, request, provider, identity, termination } = run;
  const noted = new Map<number, ProcessIdentity>();
  // The agent's commands have groups of their own and may drop the mark: parent links are only there while it lives.
  const note = (): void => {
    const seen = [...familyOf(identity), ...markedProcesses(ATTEMPT_MARK, request.attemptId)];
    for (const found of seen) noted.set(found.pid, found);
  };
  const sent: StopSignal[] = [];
  let printedBefore: number | undefined;
  const send = (signal: StopSignal): void => {
    note();
    if (provider.hasEnded()) return;
    printedBefore ??= sizeOf(paths.stdout);
    try {
      process.kill(-provider.pid, signal);
      sent.push(signal);
    } catch {
      // It ended in between.
    }
  };
  const watch = watchDirectory(paths.directory, (name) => name === basename(paths.stop));
  termination.addEventListener('abort', watch.wake);
  void provider.ended.then(watch.wake);

  let cause = NO_CAUSE;
  let forced = false;
  let notedAtMs = 0;
  const clock = new RunClock();
  const hasEnded = (): boolean => {
    clock.look();
    return provider.hasEnded();
  };
  while (!provider.hasEnded()) {
    const ranMs = clock.look();
    if (ranMs - notedAtMs >= NOTE_MS) {
      notedAtMs = ranMs;
      note();
    }
    cause = causeToEnd(run, ranMs);
    if (cause.reason !== null) {
      forced = await escalate(send, hasEnded, request.escalation);
      break;
    }
    await watch.next(LOOK_MS);
  }
  // A provider that ended by itself just before the signal was not stopped.
  const before = printedBefore === undefined ? {} : { printedBefore };
  return {
    ...(sent.length > 0 ? { ...cause, ...before } : NO_CAUSE),
    forced,
    ranMs: Math.round(clock.look()),
    noted: () => [...noted.values(), ...familyOf(identity)],
  };
}
