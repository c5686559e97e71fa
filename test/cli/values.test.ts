import { duration, integer, pair } from '../../cli/values';

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
