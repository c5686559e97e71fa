import { cutUtf8, id, line, text, utf8Length } from '../../contract/text';

describe('texts at the boundary', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['é', 2],
    ['界', 3],
    ['🙂', 4],
  ])('measure %j as %i bytes of UTF-8', (value, bytes) => {
    expect(utf8Length(value)).toBe(bytes);
    expect(Buffer.byteLength(value)).toBe(bytes);
  });

  it('are cut on a character edge', () => {
    expect(cutUtf8('a界🙂b', 7)).toBe('a界');
    expect(cutUtf8('a界🙂b', 8)).toBe('a界🙂');
    expect(cutUtf8('abc', 100)).toBe('abc');
  });

  it.each(['T-1', 'é', '日本', 'a b', '🙂', 'x'.repeat(128), 'a.b', '~'])('take %j as an id', (value) => {
    expect(id.safeParse(value).success).toBe(true);
  });

  it.each(['', 'a/b', '..', 'a..b', 'a\nb', 'a\u0000', 'a\u009bb', '\ud800', 'x'.repeat(129), ' a', 'a ', '-rf'])(
    'refuse %j as an id',
    (value) => {
      expect(id.safeParse(value).success).toBe(false);
    },
  );

  it('count characters in a line and bytes in a text', () => {
    expect(line(3).safeParse('🙂🙂🙂').success).toBe(true);
    expect(line(3).safeParse('abcd').success).toBe(false);
    expect(line(3).safeParse(' \n ').success).toBe(false);
    expect(text(4).safeParse('🙂').success).toBe(true);
    expect(text(3).safeParse('🙂').success).toBe(false);
  });
});
