import { RunClock } from '../../../activities/provider/run-clock';

describe('the time that a run has run', () => {
  it('adds up what lies between looks', () => {
    const clock = new RunClock(0, 0);
    for (let now = 250; now <= 10_000; now += 250) clock.look(now);
    expect(clock.look(10_000)).toBe(10_000);
  });

  it('counts little of a sleep, and nothing of a step backwards', () => {
    const clock = new RunClock(1_000, 0);
    expect(clock.look(3_600_000)).toBe(6_000);
    expect(clock.look(0)).toBe(6_000);
    expect(clock.look(1_000)).toBe(7_000);
  });
});
