const ERROR_CHARACTERS = 600;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g;
// eslint-disable-next-line no-control-regex -- terminal colours begin with a control character
const COLOUR = /\u001b\[[0-9;]*[A-Za-z]/g;
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, '$1 [redacted]'],
  [/\b(sk|rk|pk|ghp|gho|ghs|xox[a-z])[-_][\w-]{8,}/g, '[redacted]'],
  [/\bgithub_pat_\w{8,}/g, '[redacted]'],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g, '[redacted]'],
  [/\b([\w-]*(?:token|secret|api[_-]?key|password)[\w-]*["']?\s*[=:]\s*["']?)[^\s"',;&]{6,}/gi, '$1[redacted]'],
  [/(\/\/[^\s/:@]+:)[^\s/@]+@/g, '$1[redacted]@'],
];

/** Replaces halves of surrogate pairs and NUL, which no database takes. */
export const storable = (text: string): string => Buffer.from(text).toString().replaceAll('\0', '\uFFFD');

/** Takes secrets out of a text: the given values, and what looks like one. */
export function redact(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return SECRET_SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), known);
}

/** Makes provider text fit for a record: one line, no control characters, no secrets, bounded with a visible cut. */
export function plainText(text: string, secrets: readonly string[]): string {
  // Redacted before it is cut, so that no half of a secret is left; cut first to a size that is cheap to redact.
  const line = text
    .slice(0, 64 * 1024)
    .replace(COLOUR, '')
    .replace(CONTROL, ' ')

    .trim();
  const clean = [...redact(line, secrets)];
  return clean.length <= ERROR_CHARACTERS ? clean.join('') : `${clean.slice(0, ERROR_CHARACTERS - 1).join('')}…`;
}

/** The line of a standard error that says what went wrong: the last that names an error, else the last. */
export function errorLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.findLast((line) => /error|fatal|panicked/i.test(line)) ?? lines.at(-1) ?? '';
}
