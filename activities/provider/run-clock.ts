// Import-light on purpose: the runner loads this.

/** The most that counts between two looks, in milliseconds: beyond it, the machine or this process slept. */
const MOST_MS = 5_000;

/** Counts how long a run has run; neither a sleep of the machine nor a step of its clock is run time. */
export class RunClock {
  constructor(
    private elapsedMs = 0,
    private lookedAt = performance.now(),
  ) {}

  /** Run time in milliseconds; has to be looked at more often than every five seconds. */
  look(now = performance.now()): number {
    this.elapsedMs += Math.min(Math.max(now - this.lookedAt, 0), MOST_MS);
    this.lookedAt = now;
    return this.elapsedMs;
  }
}

/** Milliseconds of a clock that all processes of this boot share, and that no clock step moves. */
export const sharedClockMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

/** Whether an absolute deadline (ISO 8601) is over by the wall clock; none never is. */
export const isPast = (deadlineAt: string | undefined): boolean =>
  deadlineAt !== undefined && Date.now() >= Date.parse(deadlineAt);
