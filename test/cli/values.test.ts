import { duration, durationUpTo, integer, pair, time } from '../../cli/values';

describe('duration', () => {
  it.each([
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['500ms', 500],
  ])('reads %s', (text, ms) => {
    expect(duration(text)).toBe(ms);
  });

  it.each(['', '5', 'm', '-5m', '1.5h', '5 m', '5mm'])('refuses %j', (text) => {
    expect(() => duration(text)).toThrow(/duration/);
  });
});

describe('durationUpTo', () => {
  it('takes what is in the range, both ends included', () => {
    expect(['1s', '7d'].map(durationUpTo('7d'))).toEqual([1_000, 604_800_000]);
  });

  it.each(['0s', '999ms', '8d'])('refuses %j and says the range', (text) => {
    expect(() => durationUpTo('7d')(text)).toThrow(/between 1s and 7d/);
  });
});

describe('time', () => {
  it.each(['2026-12-31T17:00:00Z', '2026-12-31T17:00:00.5+02:00'])('keeps %s', (text) => {
    expect(time(text)).toBe(text);
  });

  it.each(['tomorrow', '', '2026-12-31', '2026-13-31T17:00:00Z'])('refuses %j with an example', (text) => {
    expect(() => time(text)).toThrow(/2026-12-31T17:00:00Z/);
  });
});

describe('integer', () => {
  it.each(['0', '11', 'x', '1e1', '-1', ''])('refuses %j', (text) => {
    expect(() => integer(1, 10)(text)).toThrow(/whole number/);
  });
});

describe('pair', () => {
  it('keeps what follows the first equals sign', () => {
    expect(pair('k=a=b', { x: '1' })).toEqual({ x: '1', k: 'a=b' });
  });

  it.each(['k', '=v', ''])('refuses %j', (text) => {
    expect(() => pair(text)).toThrow(/key=value/);
  });
});
