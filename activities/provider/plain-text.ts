import { redact } from './redaction';

const ERROR_CHARACTERS = 600;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g;
// eslint-disable-next-line no-control-regex -- terminal colours begin with a control character
const COLOUR = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Replaces halves of surrogate pairs and NUL, which no database takes. */
export const storable = (text: string): string => Buffer.from(text).toString().replaceAll('\0', '\uFFFD');

/** Makes provider text fit for a record: one line, no control characters, no secrets, bounded with a visible cut. */
export function plainText(text: string, secrets: readonly string[]): string {
  // Redacted before it is cut, so that no half of a secret is left; cut first to a size that is cheap to redact.
  const whole = redact(text.slice(0, 64 * 1024), secrets);
  const line = whole.replace(COLOUR, '').replace(CONTROL, ' ').trim();
  // Once more: colours may have stood inside of one.
  const clean = [...redact(line, secrets)];
  return clean.length <= ERROR_CHARACTERS ? clean.join('') : `${clean.slice(0, ERROR_CHARACTERS - 1).join('')}…`;
}

/** The line of a standard error that says what went wrong: the last that names an error, else the last. */
export function errorLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.findLast((line) => /error|fatal|panicked/i.test(line)) ?? lines.at(-1) ?? '';
}
