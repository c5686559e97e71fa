import { causeOf } from '../../../activities/provider/failure-cause';
import { resetOf } from '../../../activities/provider/usage-limit';

// Local, as Codex prints its times.
const SAID = new Date(2026, 10, 29, 20, 0, 30).getTime();
const local = (month: number, day: number, time: string) => {
  const [hour, minute] = time.split(':').map(Number);
  return new Date(2026, month - 1, day, hour, minute).toISOString();
};
const later = (seconds: number) => new Date(SAID + seconds * 1_000).toISOString();

describe('an account at its usage limit (P26)', () => {
  it.each([
    ['You’ve hit your usage limit. Try again at Dec 1st, 2026 12:06 AM.', local(12, 1, '0:07')],
    ["You've hit your usage limit. Upgrade to Pro or try again at Nov 29th, 2026 11:05 PM.", local(11, 29, '23:06')],
    ["You've hit your usage limit. Visit https://x.test or try again at 11:05 PM.", local(11, 29, '23:06')],
    ['You’ve hit your usage limit. Try again at 12:30 PM.', local(11, 29, '12:31')],
    ["You've hit your usage limit. Try again in 3 hours 5 minutes.", later(3 * 3_600 + 6 * 60)],
    ['usage limit reached, try again in 2 days, 17 hours and 14 minutes', later(2 * 86_400 + 17 * 3_600 + 15 * 60)],
    ['last status: 429 Too Many Requests, try again in 1.5s', later(1.5)],
    ['429: {"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}', later(3_600)],
    ['{"error":{"type":"usage_limit_reached","resets_at":1796083596}}', new Date(1_796_083_596_000).toISOString()],
    ['resets_at: 2026-12-01T00:00:00Z', '2026-12-01T00:00:00.000Z'],
  ])('is known by "%s", with the moment it names', (words, reset) => {
    expect([causeOf(words), resetOf(words, SAID)]).toEqual(['usage_limit', reset]);
  });

  it.each([
    'You’ve hit your usage limit. Try again later.',
    'Quota exceeded. Check your plan and billing details.',
    "You've hit your usage limit. Try again at Foo 41st, 2026 99:99 PM.",
    'usage_limit_reached {"resets_at":99999999999999999}',
    'usage_limit_reached {"resets_in_seconds":999999999}',
  ])('is known by "%s", which names no moment', (words) => {
    expect([causeOf(words), resetOf(words, SAID)]).toEqual(['usage_limit', null]);
  });

  it.each([
    'exceeded retry limit, last status: 429 Too Many Requests',
    'stream disconnected before completion: Rate limit reached for gpt-5. Please try again in 1.304s.',
    'the disk quota of this task is at its limit',
    '',
  ])('is not what "%s" says', (words) => {
    expect(causeOf(words)).toBeNull();
  });
});

describe('the cause of a failure', () => {
  it.each([
    'Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.',
    'unexpected status 401 Unauthorized: Incorrect API key provided: sk-xxxx., url: http://127.0.0.1/v1/responses',
    'Missing environment variable: `OPENAI_API_KEY`.',
  ])('is the credentials: "%s" (P19)', (words) => {
    expect(causeOf(words)).toBe('credentials_invalid');
  });

  it.each([
    '{"error":{"message":"No tool output found for function call call_abc123.","type":"invalid_request_error"}}',
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
  ])('is the history of the thread: "%s" (P21)', (words) => {
    expect(causeOf(words)).toBe('thread_unusable');
  });
});
