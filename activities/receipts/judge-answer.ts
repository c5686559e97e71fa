import type { WebhookAnswer } from './post';

const SECOND = 1_000;
const HOUR = 3_600_000;

/** Client errors that pass: a timeout, a replay that is refused as too early, too many requests. */
const PASSING = [408, 425, 429];

/** What an answer means: it is delivered, it is refused for good, or it is to be tried again. */
export type Judgement =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'again'; readonly error: string; readonly afterMs: number | undefined };

/** Judges what a webhook answered; a redirect is not followed and so delivers nothing. */
export function judgeAnswer({ status, retryAfter }: WebhookAnswer, now: Date): Judgement {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const error = `the webhook answered ${String(status)}`;
  if (status >= 400 && status < 500 && !PASSING.includes(status)) return { kind: 'refused', error };
  return { kind: 'again', error, afterMs: retryAfter === undefined ? undefined : waitOf(retryAfter, now) };
}

/** Milliseconds that `Retry-After` asks for, by seconds or by a date, from a second to an hour. */
function waitOf(value: string, now: Date): number | undefined {
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * SECOND : Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, SECOND), HOUR);
}
