import * as fc from 'fast-check';
import { block, jsonLine, oneLine } from '../../cli/escape';

// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]|\p{Surrogate}/u;

describe('oneLine', () => {
  it.each([
    ['\u001b]52;c;cm0=\u0007', '\\u{1b}]52;c;cm0=\\u{7}'],
    ['\u009b2J', '\\u{9b}2J'],
    ['a\rb\bc', 'a\\u{d}b\\u{8}c'],
    ['a\n2027-01-01 forged', 'a\\u{a}2027-01-01 forged'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
  ])('shows %j as a visible escape (P111)', (text, shown) => {
    expect(oneLine(text)).toBe(shown);
  });

  it('leaves ordinary text of any language alone', () => {
    expect(oneLine('Grüße, 世界 👩‍🚀'.replace('\u200d', ''))).toBe('Grüße, 世界 👩🚀');
  });

  it('never prints a steering character, whatever comes in', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !STEERING.test(oneLine(text))));
  });
});

describe('block', () => {
  it('indents every line, so that none passes for a line of ours', () => {
    expect(block('a\n\u001b[1mb\r\nc')).toEqual(['  a', '  \\u{1b}[1mb', '  c']);
  });
});

describe('jsonLine', () => {
  it('is lossless, one line, and free of steering characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = jsonLine({ text });
        return !STEERING.test(line) && (JSON.parse(line) as { text: string }).text === text;
      }),
    );
  });
});
