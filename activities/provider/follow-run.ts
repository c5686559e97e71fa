import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { RunOrder } from '../../contract/activities';
import { watchDirectory } from './directory-watch';
import { executorState, type ExecutorState } from './executor-state';
import { endOrphan } from './orphan-ending';
import { isSameProcess } from './process-identity';
import { isPast, RunClock, sharedClockMs } from './run-clock';
import type { OutputFollower } from './output-follower';
import { mayPrint } from './output-writers';
import type { Escalation } from './process-ending';
import type { FollowContext } from './provider-deps';
import {
  pendingStop,
  readExit,
  readRunner,
  requestStop,
  writeRecord,
  type ExitRecord,
  type RunPaths,
} from './run-directory';
import { SilenceLimits } from './silence-limits';

const LOOK_MS = 250;
const LIVENESS_MS = 1_000;
const BEAT_MS = 2_000;
/** Between two bursts are the beats and the look at a cancellation, so one takes less than a second of small events. */
const BURST_BYTES = 2 * 1024 * 1024;
/** Longest that an executor of unknown liveness is followed beyond its deadline. */
const UNKNOWN_MS = 60_000;

export interface FollowedRun {
  readonly order: RunOrder;
  readonly paths: RunPaths;
  readonly output: OutputFollower;
  readonly context: FollowContext;
  readonly escalation: Escalation;
  /** Called once, when the model has answered anything. */
  readonly onAnswer?: () => void;
}

export interface RunEnd {
  readonly exit: ExitRecord | null;
  readonly startedAt: string | null;
  readonly warnings: string[];
}

/** Follows one attempt to its end; it reads, and writes nothing but a stop, so any number may follow. */
export class RunFollower {
  private readonly startedMs: number;
  private readonly clock: RunClock;
  private readonly silence: SilenceLimits;
  private livenessAt = -LIVENESS_MS;
  private beatAt = performance.now();
  private isThreadTold = false;
  private isAnswerTold = false;
  private timesGone = 0;
  private cancellation: { error: unknown } | undefined;

  constructor(private readonly run: FollowedRun) {
    const { paths, order } = run;
    const runner = readRunner(paths);
    this.startedMs =
      runner.kind === 'found'
        ? Date.parse(runner.value.startedAt)
        : (statSync(paths.claim, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    const startedClockMs = runner.kind === 'found' ? runner.value.startedClockMs : undefined;
    const ranMs = startedClockMs === undefined ? Date.now() - this.startedMs : sharedClockMs() - startedClockMs;
    this.clock = new RunClock(Math.max(ranMs, 0));
    this.silence = new SilenceLimits(order.limits, Date.now());
  }

  /** Returns when the attempt is over; throws what cancelled the activity, and leaves the provider alone then. */
  async follow(): Promise<RunEnd> {
    const { paths, output, context } = this.run;
    const names = new Set([paths.stdout, paths.exit].map((path) => basename(path)));
    const watch = watchDirectory(paths.directory, (name) => names.has(name));
    context.cancelled.catch((error: unknown) => {
      this.cancellation = { error };
      watch.wake();
    });
    try {
      for (;;) {
        this.throwIfCancelled();
        this.clock.look();
        const exit = readExit(paths);
        if (exit.kind === 'found') return await this.end(exit.value, []);
        const isAtEnd = await output.read(BURST_BYTES);
        this.tellAnswer();
        await this.beat();
        if (!isAtEnd) continue;
        const end = await this.look();
        if (end !== null) return end;
        await watch.next(LOOK_MS);
      }
    } finally {
      watch.close();
    }
  }

  private async end(exit: ExitRecord | null, warnings: string[]): Promise<RunEnd> {
    const { output, paths } = this.run;
    while (!(await output.read(BURST_BYTES))) {
      this.throwIfCancelled();
      await this.beat();
    }
    output.finish();
    const runner = readRunner(paths);
    if (exit !== null && exit.startedAt !== null && !existsSync(paths.stdout)) {
      // An exit code alone says nothing about a run whose words are lost.
      return { exit: null, startedAt: exit.startedAt, warnings: [...warnings, 'its run directory was deleted'] };
    }
    return { exit, startedAt: runner.kind === 'found' ? runner.value.startedAt : null, warnings };
  }

  private tellAnswer(): void {
    if (this.isAnswerTold || !this.run.output.events.hasAnswer) return;
    this.isAnswerTold = true;
    this.run.onAnswer?.();
  }

  private throwIfCancelled(): void {
    if (this.cancellation !== undefined) throw this.cancellation.error;
  }

  private async activeMs(): Promise<number> {
    return Math.max((await this.run.output.lastActiveAt()) ?? 0, this.startedMs);
  }

  private async beat(): Promise<void> {
    const { output, context } = this.run;
    const { events, offset } = output;
    const hasThread = events.threadIds.length > 0;
    // The server takes the first beat at once and the next ones much later, so the first one waits for the thread.
    const isNews = hasThread && !this.isThreadTold;
    if (!isNews && performance.now() - this.beatAt < BEAT_MS) return;
    this.isThreadTold = hasThread;
    this.beatAt = performance.now();
    context.heartbeat({
      offset,
      threadId: events.threadIds[0] ?? null,
      usage: events.usage,
      lastActivityAt: new Date(await this.activeMs()).toISOString(),
      toolRunning: events.openTools.size > 0,
    });
  }

  /** Judges limits and liveness; gives the end when nothing of the attempt lives any more. */
  private async look(): Promise<RunEnd | null> {
    const { paths, order, output } = this.run;
    if (pendingStop(paths) === null) {
      const reason = this.silence.check(output.events, await this.activeMs(), Date.now());
      if (reason !== null) requestStop(paths, reason);
    }
    if (performance.now() - this.livenessAt < LIVENESS_MS) return null;
    const state = executorState(paths, order.attemptId);
    // A process that forks while it is looked for may be missed once, so gone counts when seen twice in a row.
    this.timesGone = state.kind === 'gone' ? this.timesGone + 1 : 0;
    if (state.kind !== 'gone') this.livenessAt = performance.now();
    if (this.timesGone > 1) return this.endGone();
    if (state.kind === 'orphaned') return this.guardOrphan(state);
    if (state.kind === 'unknown' && this.clock.look() > order.limits.timeMs + UNKNOWN_MS) {
      return this.end(null, [`its end could not be proven: ${state.evidence.join('; ')}`]);
    }
    return null;
  }

  private async endGone(): Promise<RunEnd> {
    const exit = readExit(this.run.paths);
    if (exit.kind === 'found') return this.end(exit.value, []);
    const unreadable = exit.kind === 'unreadable' ? [`its exit record cannot be read: ${exit.why}`] : [];
    return this.end(null, ['the runner died before it could record an exit', ...unreadable]);
  }

  /** Does the dead runner's duties: limits, stop, and the strays of a provider that ended. */
  private async guardOrphan(state: ExecutorState & { kind: 'orphaned' }): Promise<RunEnd | null> {
    const { paths, order, output, escalation } = this.run;
    const { provider, marked } = state;
    const orphan = { paths, attemptId: order.attemptId, provider };
    const hasProviderEnded = provider === null ? !mayPrint(marked, paths.stdout) : isSameProcess(provider) === 'dead';
    const isStopped = pendingStop(paths) !== null;
    const isLate = this.clock.look() >= order.limits.timeMs || isPast(order.deadlineAt);
    const isLoud = output.offset > order.limits.outputBytes;
    if (!hasProviderEnded && !isStopped && !isLate && !isLoud) return null;
    const { forced, strays } = await endOrphan(orphan, escalation);
    if (isStopped || hasProviderEnded) return null;
    const exit: ExitRecord = {
      code: null,
      signal: null,
      startedAt: new Date(this.startedMs).toISOString(),
      endedAt: new Date().toISOString(),
      reason: isLate ? 'deadline' : 'output_limit',
      stopReason: null,
      forced,
      strays,
      ranMs: Math.round(this.clock.look()),
      spawnError: null,
    };
    writeRecord(paths.exit, exit);
    return this.end(exit, ['the runner died before the provider did']);
  }
}
