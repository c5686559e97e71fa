import { redact, redactJson } from './redaction';

/** Characters of a message that is looked at as a report; a longer one is none. */
const MOST = 64 * 1024;
const FENCE = '```checkpoint';
const FENCE_END = '\n```';

/** Takes secrets out of the last message of a run that was asked for a report, which stays readable as one. */
export function redactReport(message: string, secrets: readonly string[]): string {
  if (message.length > MOST) return redact(message, secrets);
  return redactJson(message, secrets) ?? redactFenced(message, secrets) ?? redact(message, secrets);
}

/** The same for a report in a fenced block at the end of a message; null when it does not end with one. */
function redactFenced(message: string, secrets: readonly string[]): string | null {
  const text = message.trimEnd();
  const begin = text.indexOf('\n', text.lastIndexOf(FENCE)) + 1;
  if (!text.includes(FENCE) || !text.endsWith(FENCE_END) || begin === 0) return null;
  const report = redactJson(text.slice(begin, -FENCE_END.length), secrets);
  return report === null ? null : `${redact(text.slice(0, begin), secrets)}${report}${FENCE_END}`;
}
