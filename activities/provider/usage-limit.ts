/**
 * Texts of an account at its limit. Those of Codex 0.171.0, with the model's answer 429 `usage_limit_reached`, are "You’ve
 * hit your usage limit. Try again at Dec 1st, 2026 12:06 AM." and, on the same day, "... try again at 11:05 PM."; older
 * versions said "try again in 2 days 17 hours 14 minutes.".
 */
const LIMIT = [
  /hit your usage limit/i,
  /usage_limit_(reached|exceeded)/i,
  /\b(usage|weekly|5-hour) limit\b[^\n]*\b(try again (at|in)|resets?)\b/i,
  /\b429\b[^\n]*\b(try again (at|in) |resets?_|resets? (at|in) )/i,
  /"?resets_(at|in_seconds)"?\s*[:=]/i,
  /quota exceeded\. check your plan/i,
  /workspace is out of credits/i,
];

/** Most of a provider's words that are searched. */
export const MOST_WORDS = 4_000;
const MINUTE_MS = 60_000;
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^ms|^milli/i, 1],
  [/^d/i, 86_400_000],
  [/^h/i, 3_600_000],
  [/^m/i, MINUTE_MS],
  [/^s/i, 1_000],
];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const UNIT = 'days?|hours?|hrs?|minutes?|mins?|milliseconds?|seconds?|secs?|ms|d|h|m|s';
const DURATION = new RegExp(String.raw`\bin ((?:\d+(?:\.\d+)? ?(?:${UNIT})\b[ ,]*(?:and )?)+)`, 'i');
const PART = new RegExp(String.raw`(\d+(?:\.\d+)?) ?(${UNIT})\b`, 'gi');
const DATE = /\bat ([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? (\d{1,2}):(\d{2}) ?([ap])m\b/i;
const TIME = /\bat (\d{1,2}):(\d{2}) ?([ap])m\b/i;
/** Beyond this a reset is taken for nonsense. */
const FARTHEST_MS = 370 * 86_400_000;

/** Whether a provider's last words say that the account is at its usage limit. */
export const isUsageLimit = (words: string): boolean => LIMIT.some((text) => text.test(words.slice(0, MOST_WORDS)));

/**
 * When the limit ends by what was said at `saidAt` (epoch milliseconds), as an ISO instant; null when that is not said.
 * A time of day is of the host's time zone, as Codex prints it; it names a minute, so its end counts.
 */
export function resetOf(spoken: string, saidAt: number): string | null {
  const words = spoken.slice(0, MOST_WORDS);
  const at = resetsInSeconds(words, saidAt) ?? resetsAt(words) ?? duration(words, saidAt) ?? clockTime(words, saidAt);
  if (at === null || !Number.isFinite(at) || Math.abs(at - saidAt) > FARTHEST_MS) return null;
  return new Date(at).toISOString();
}

function resetsInSeconds(words: string, saidAt: number): number | null {
  const [, seconds] = /resets_in_seconds"?\s*[:=]\s*"?(\d{1,9}(?:\.\d+)?)/i.exec(words) ?? [];
  return seconds === undefined ? null : saidAt + Number(seconds) * 1_000;
}

/** Epoch seconds, as the model's endpoint answers, epoch milliseconds, or an ISO instant. */
function resetsAt(words: string): number | null {
  const [, given] = /resets_at"?\s*[:=]\s*"?(\d[\dTZ:.+-]*)/i.exec(words) ?? [];
  if (given === undefined) return null;
  if (!/^[\d.]+$/.test(given)) return Number.isNaN(Date.parse(given)) ? null : Date.parse(given);
  const number = Number(given);
  return number < 1e11 ? number * 1_000 : number;
}

function duration(words: string, saidAt: number): number | null {
  const [, spelled] = DURATION.exec(words) ?? [];
  if (spelled === undefined) return null;
  let sum = 0;
  let isExact = false;
  for (const [, number, unit = ''] of spelled.matchAll(PART)) {
    const [, each] = UNITS.find(([name]) => name.test(unit)) ?? [null, 0];
    sum += Number(number) * each;
    isExact ||= each <= 1_000;
  }
  // One that is told in whole minutes was rounded down.
  return saidAt + sum + (isExact ? 0 : MINUTE_MS);
}

function clockTime(words: string, saidAt: number): number | null {
  const [, month, day, year, hour, minute, half] = DATE.exec(words) ?? [];
  if (month !== undefined) {
    const index = MONTHS.indexOf(month.toLowerCase());
    if (index === -1) return null;
    return atLocal([Number(year), index, Number(day)], [hour, minute, half]);
  }
  const time = TIME.exec(words);
  if (time === null) return null;
  const said = new Date(saidAt);
  return atLocal([said.getFullYear(), said.getMonth(), said.getDate()], [time[1], time[2], time[3]]);
}

type Texts = readonly [hour: string | undefined, minute: string | undefined, half: string | undefined];

function atLocal([year, month, day]: readonly [number, number, number], [hour, minute, half]: Texts): number {
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
  return new Date(year, month, day, hours, Number(minute)).getTime() + MINUTE_MS;
}
