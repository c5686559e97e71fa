import fc from 'fast-check';
import { errorLine, plainText } from '../../../activities/provider/plain-text';
import { secretValues } from '../../../activities/provider/provider-environment';
import { redact } from '../../../activities/provider/redaction';

// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const KEY = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEFAASCBK\n-----END PRIVATE KEY-----\n';

/** Values that nothing else in a text can be taken for. */
const secret = fc.stringMatching(/^s3[A-Z0-9]{6,40}$/);

describe('redaction', () => {
  it('leaves nothing of a secret, wherever a text was cut (SE-4, GU-10)', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(
        secret,
        fc.tuple(text, text),
        fc.tuple(fc.nat(150), fc.nat(150)),
        (value, [before, after], [from, to]) => {
          const whole = `${before}${value}${after}${value}`;
          const shown = redact(whole.slice(from, whole.length - to), [value]);
          for (let at = 0; at + 8 <= value.length; at += 1) {
            const part = value.slice(at, at + 8);
            // What is left of one that was cut on both sides is not known for a secret.
            if (from < before.length && to < value.length) expect(shown).not.toContain(part);
          }
          expect(shown).not.toContain(value);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('makes one bounded line without a secret or a control character of any text (GU-10, SE-1)', () => {
    fc.assert(
      fc.property(
        secret,
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('S', '\n', '\u001b[31m', '\u0007')), {
          maxLength: 60,
        }),
        (value, parts) => {
          const line = plainText(parts.map((part) => (part === 'S' ? value : part)).join(''), [value]);
          expect(line).not.toContain(value);
          expect(line).not.toMatch(CONTROL);
          expect([...line].length).toBeLessThanOrEqual(600);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('takes out the longer of two secrets whole, and a secret of several lines line by line', () => {
    expect(redact('abcdef-ghijkl', ['abcdef', 'abcdef-ghijkl'])).toBe('[redacted]');
    const shown = plainText(errorLine(`Error: cannot use\n${KEY}`), [KEY]) + plainText(`Error: ${KEY}`, [KEY]);
    expect(shown).not.toMatch(/MIIE|kiG9/);
    expect(plainText(errorLine('fine\nkiG9w0BAQEFAASCBK'), [KEY])).toBe('[redacted]');
  });

  it.each([
    ['a private key of others', `key ${KEY} end`, 'kiG9'],
    ['a private key that was cut', KEY.slice(0, 60), 'MIIE'],
    ['user and password of a URL', 'https://us3r:p%40ss/x@y https://us3r:hunter2@h/', 'hunter2'],
    ['the user alone of a URL', 'https://tok3nt0k3n@example.org/', 'tok3n'],
    ['a credential', 'my_credential = abcdefgh', 'abcdefgh'],
    ['a colour in a secret', 'key sk-\u001b[1mabcdef0123456789', '0123456789'],
  ])('takes out %s', (_what, text, part) => {
    expect(plainText(text, [])).not.toContain(part);
  });

  it.each([
    'a-',
    'eyJ-',
    'eyJaaaaaaaaaaa.',
    'token',
    'token=',
    '//',
    '//a@',
    'bearer ',
    'sk-',
    '-----BEGIN PRIVATE KEY-----',
  ])('comes to an end with 8 MB of %j', (unit) => {
    expect(typeof redact(unit.repeat(Math.ceil(8_000_000 / unit.length)), ['s3cr3t-of-the-host'])).toBe('string');
  });

  it('knows a secret by the name of its variable', () => {
    const env = { MY_CREDENTIALS: 'abcdef1', A_TOKEN: 'abcdef2', PATH: '/bin/bin' };
    expect(secretValues(env, '/nowhere')).toEqual(['abcdef1', 'abcdef2']);
  });
});
