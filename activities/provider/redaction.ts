const REDACTED = '[redacted]';
/** Shortest text that is taken for a secret, or for what a cut left of one. */
const SHORTEST = 6;

/**
 * What looks like a secret, up to 20,000 characters. A provider chooses what these are tried on: no repetition may be
 * tried again from each of its own characters, and none may be endless, because the engine remembers every step of it.
 */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}-----|$)/g, REDACTED],
  [/\b(bearer|basic)\s{1,8}[\w.~+/=-]{6,20000}/gi, `$1 ${REDACTED}`],
  [/\b(sk|rk|pk|ghp|gho|ghs|xox[a-z])[-_][\w-]{8,20000}/g, REDACTED],
  [/\bgithub_pat_\w{8,20000}/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]{10,20000}\.[\w-]{10,20000}\.[\w-]{0,20000}/g, REDACTED],
  [
    /((?:token|secret|api[_-]?key|password|credential)[\w-]{0,40}["']?\s{0,8}[=:]\s{0,8}["']?)[^\s"',;&]{6,20000}/gi,
    `$1${REDACTED}`,
  ],
  [/(\/\/)[^\s/]{1,1000}@/g, `$1${REDACTED}@`],
];

/** Takes secrets out of a text: the given values, what a cut left of them at its edges, and what looks like one. */
export function redact(text: string, secrets: readonly string[]): string {
  const values = valuesOf(secrets);
  return withoutShapes(values.reduce(withoutEdges, withoutValues(text, values)));
}

/** Names of fields whose text is a secret, whatever it looks like. */
const SECRET_NAME = /token|secret|api[_-]?key|password|credential/i;

/**
 * Takes secrets out of a text that is JSON, string by string, so that it stays JSON and an escape hides none; null when
 * it is not JSON, or nests so deep that a stack would end.
 */
export function redactJson(text: string, secrets: readonly string[]): string | null {
  const values = valuesOf(secrets);
  // Nothing was cut, so what a value begins or ends with is no rest of a secret.
  const shown = (part: string): string => withoutShapes(withoutValues(part, values));
  const shownValue = (key: string, value: unknown): unknown => {
    if (typeof value === 'string') return SECRET_NAME.test(key) && value.length >= SHORTEST ? REDACTED : shown(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [shown(name), each as unknown]));
  };
  try {
    return JSON.stringify(JSON.parse(text, shownValue));
  } catch {
    return null;
  }
}

const withoutValues = (text: string, values: readonly string[]): string =>
  values.reduce((rest, value) => rest.replaceAll(value, REDACTED), text);

const withoutShapes = (text: string): string =>
  SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text);

/** Secrets and the lines of those that have several, as one line of an output is told; the longest first. */
function valuesOf(secrets: readonly string[]): string[] {
  const parts = secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)]).map((part) => part.trim());
  return [...new Set(parts)].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
}

/** Takes out the beginning of a secret at the end of a text, and the end of one at its beginning. */
function withoutEdges(text: string, value: string): string {
  const lengths = Array.from({ length: value.length - SHORTEST }, (_, n) => value.length - 1 - n);
  const tail = lengths.find((length) => text.endsWith(value.slice(0, length)));
  const rest = tail === undefined ? text : `${text.slice(0, -tail)}${REDACTED}`;
  const head = lengths.find((length) => rest.startsWith(value.slice(-length)));
  return head === undefined ? rest : `${REDACTED}${rest.slice(head)}`;
}
