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

  it('do not count a clock that was set back, and end a silent run no later for it (P104)', () => {
    const silence = new SilenceLimits(LIMITS, 3_600_000);
    expect(silence.check(begun(), 3_600_000, 3_601_000)).toBeNull();
    // One hour back: the last output now lies in the future.
    expect(silence.check(begun(), 3_600_000, 1_000)).toBeNull();
    expect(silence.check(begun(), 3_600_000, 10_500)).toBeNull();
    expect(silence.check(begun(), 3_600_000, 20_000)).toBeNull();
    expect(silence.check(begun(), 3_600_000, 21_000)).toBe('inactive');
  });

  it('do not count the time before anybody watched', () => {
    const silence = new SilenceLimits(LIMITS, 3_600_000);
    expect(silence.check(begun(), 0, 3_600_250)).toBeNull();
    expect(silence.check(begun(), 0, 3_609_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_618_000)).toBeNull();
    expect(silence.check(begun(), 0, 3_620_000)).toBe('inactive');
  });
});

describe('the limit of five minutes', () => {
  const FIVE = 5 * 60_000;
  const DEFAULTS = { inactivityMs: FIVE, startMs: 120_000 };
  const tools = (...ids: string[]) => new Set(ids);

  /** Looks every 250 ms up to the moment, and then at it. */
  function judged(silence: SilenceLimits, [events, activeAt]: [RunEvents, number], [from, at]: [number, number]) {
    for (let now = from; now < at; now += 250) expect(silence.check(events, activeAt, now)).toBeNull();
    return silence.check(events, activeAt, at);
  }

  it('is reached at five minutes of silence and not a millisecond before (BG-6, P05, P105 B)', () => {
    expect(judged(new SilenceLimits(DEFAULTS, 0), [begun(), 0], [0, FIVE - 1])).toBeNull();
    expect(judged(new SilenceLimits(DEFAULTS, 0), [begun(), 0], [0, FIVE])).toBe('inactive');
  });

  it('is never reached while a tool runs, one or two, also one of a nested agent (BG-7, P105 A, D, E)', () => {
    const open = begun({ openTools: tools('item_1', 'item_2') });
    const silence = new SilenceLimits(DEFAULTS, 0);
    expect(judged(silence, [open, 0], [0, 12 * 60_000])).toBeNull();
    // One of two has ended: the other one still runs.
    open.openTools.delete('item_1');
    expect(judged(silence, [open, 12 * 60_000], [12 * 60_000, 24 * 60_000])).toBeNull();
  });

  it('counts from the end of the last tool (BG-9, P105 C)', () => {
    const events = begun({ openTools: tools('item_1') });
    const silence = new SilenceLimits(DEFAULTS, 0);
    judged(silence, [events, 0], [0, FIVE * 2]);
    events.openTools.clear();
    const ended = FIVE * 2;
    expect(judged(silence, [events, ended], [ended, ended + FIVE - 1])).toBeNull();
    expect(silence.check(events, ended, ended + FIVE)).toBe('inactive');
  });

  it('is a minute once an error announced no further try, counted from that error (P06)', () => {
    const events = begun();
    const silence = new SilenceLimits(DEFAULTS, 0);
    judged(silence, [events, 0], [0, 200_000]);
    Object.assign(events, { fatalError: 'E-CANARY', errors: 1 });
    expect(judged(silence, [events, 0], [200_000, 259_999])).toBeNull();
    expect(silence.check(events, 0, 260_000)).toBe('inactive');
  });

  it('stays five minutes after notices of another try (P08)', () => {
    const events = begun({ errors: 4, lastError: 'Reconnecting... 4/5' });
    expect(judged(new SilenceLimits(DEFAULTS, 0), [events, 0], [0, FIVE - 1])).toBeNull();
  });
});
