/** Characters that steer a terminal or reorder what it shows: C0, DEL, C1, bidi controls, line separators, halves. */
const STEERING =
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Surrogate}/gu;

const code = (character: string): string => (character.codePointAt(0) ?? 0).toString(16);

/** Makes text of others safe to print on one line: what steers a terminal shows as `\u{..}`. */
export function oneLine(text: string): string {
  return text.replace(STEERING, (character) => `\\u{${code(character)}}`);
}

/** Lines of a longer text, each safe to print and indented, so that none passes for a line of ours. */
export function block(text: string, indent = '  '): string[] {
  return text.split(/\r?\n/).map((line) => `${indent}${oneLine(line.replaceAll('\t', '    '))}`.trimEnd());
}

/** JSON on one line that is lossless and yet safe to print: what steers a terminal is a JSON escape. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(STEERING, (character) => `\\u${code(character).padStart(4, '0')}`);
}
