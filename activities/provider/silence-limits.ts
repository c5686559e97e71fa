import type { Limits } from '../../contract/run';
import type { RunEvents } from './event-reducer';

/** Between two looks lies a quarter of a second; much more means that the machine slept. */
const SLEPT_MS = 10_000;

/** Judges a provider's silence by its own output: a running tool is allowed to be silent, however long. */
export class SilenceLimits {
  private lookedAt: number;
  private excusedUntil: number;

  constructor(
    private readonly limits: Pick<Limits, 'inactivityMs' | 'startMs'>,
    now: number,
  ) {
    this.lookedAt = now;
    // Silence counts only while it is watched: before that, the machine may have slept.
    this.excusedUntil = now;
  }

  /** Reason to end the run now, or null; all moments in epoch milliseconds. */
  check(events: RunEvents, activeAt: number, now: number): 'inactive' | 'start_deadline' | null {
    if (now - this.lookedAt > SLEPT_MS) this.excusedUntil = now;
    this.lookedAt = now;
    const silentMs = now - Math.max(activeAt, this.excusedUntil);
    if (events.threadIds.length === 0) return silentMs >= this.limits.startMs ? 'start_deadline' : null;
    return events.openTools.size === 0 && silentMs >= this.limits.inactivityMs ? 'inactive' : null;
  }
}
