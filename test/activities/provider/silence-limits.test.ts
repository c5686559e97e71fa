import { noEvents, type RunEvents } from '../../../activities/provider/event-reducer';
import { SilenceLimits } from '../../../activities/provider/silence-limits';

const LIMITS = { inactivityMs: 20_000, startMs: 50_000 };
const begun = (exact: Partial<RunEvents> = {}): RunEvents => ({ ...noEvents(), threadIds: ['t'], ...exact });

/** Looks once a second from 0 to `until`, with activity at 0; the first reason and its moment. */
function firstReason(events: RunEvents, until: number): [string, number] | null {
  const silence = new SilenceLimits(LIMITS, 0);
  for (let now = 1_000; now <= until; now += 1_000) {
    const reason = silence.check(events, 0, now);
    if (reason !== null) return [reason, now];
  }
  return null;
}

describe('limits of silence', () => {
  it('end a silent run exactly when the limit is reached (BG-6)', () => {
    expect(firstReason(begun(), 30_000)).toEqual(['inactive', 20_000]);
  });

  it('let a running tool be silent, however long (BG-7)', () => {
    expect(firstReason(begun({ openTools: new Set(['item_1']) }), 3_600_000)).toBeNull();
  });

  it('give a run without a thread its own limit (P30)', () => {
    expect(firstReason(noEvents(), 60_000)).toEqual(['start_deadline', 50_000]);
  });

  it('do not count the time that the machine slept', () => {
    const silence = new SilenceLimits(LIMITS, 0);
    expect(silence.check(begun(), 0, 1_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_600_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_609_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_618_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_620_000)).toBe('inactive');
  });

  it('do not count the time before anybody watched', () => {
    const silence = new SilenceLimits(LIMITS, 3_600_000);
    expect(silence.check(begun(), 0, 3_600_250)).toBeNull();
    expect(silence.check(begun(), 0, 3_609_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_618_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_620_000)).toBe('inactive');
  });
});
