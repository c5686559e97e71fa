import type { Limits } from '../../contract/run';
import type { RunEvents } from './event-reducer';

/** Between two looks lies a quarter of a second; much more means that the machine slept. */
const SLEPT_MS = 10_000;
/** What follows an error without a further try comes at once, or never: this part of the limit is waited for it. */
const AFTER_ERROR = 1 / 5;

/** Judges a provider's silence by its own output: a running tool is allowed to be silent, however long. */
export class SilenceLimits {
  private lookedAt: number;
  private activeAt: number | null = null;
  private silentFrom: number;
  private errors = 0;
  private errorAt: number;

  constructor(
    private readonly limits: Pick<Limits, 'inactivityMs' | 'startMs'>,
    now: number,
  ) {
    this.lookedAt = now;
    this.errorAt = now;
    // Silence counts only while it is watched: before that, the machine may have slept.
    this.silentFrom = now;
  }

  /** Reason to end the run now, or null; all moments in epoch milliseconds. */
  check(events: RunEvents, activeAt: number, now: number): 'inactive' | 'start_deadline' | null {
    this.look(events, activeAt, now);
    const silentMs = now - this.silentFrom;
    if (events.threadIds.length === 0) return silentMs >= this.limits.startMs ? 'start_deadline' : null;
    if (events.openTools.size > 0) return null;
    const { inactivityMs } = this.limits;
    if (silentMs >= inactivityMs) return 'inactive';
    const isFatal = events.fatalError !== null && now - this.errorAt >= inactivityMs * AFTER_ERROR;
    return isFatal && silentMs >= inactivityMs * AFTER_ERROR ? 'inactive' : null;
  }

  /** Takes note of activity and errors; neither a sleep of the machine nor a step of its clock is silence. */
  private look(events: RunEvents, activeAt: number, now: number): void {
    if (now - this.lookedAt > SLEPT_MS || now < this.lookedAt) this.silentFrom = now;
    this.lookedAt = now;
    if (activeAt !== this.activeAt) {
      this.activeAt = activeAt;
      this.silentFrom = Math.max(this.silentFrom, Math.min(activeAt, now));
    }
    if (events.errors === this.errors) return;
    this.errors = events.errors;
    this.errorAt = now;
  }
}
