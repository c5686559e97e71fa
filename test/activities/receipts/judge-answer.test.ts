import { judgeAnswer } from '../../../activities/receipts/judge-answer';

const now = new Date('2026-01-01T00:00:00.000Z');
const judge = (status: number, retryAfter?: string) => judgeAnswer({ status, retryAfter }, now);

describe('the answer of a webhook', () => {
  it.each([200, 201, 204, 299])('%d delivers', (status) => {
    expect(judge(status)).toEqual({ kind: 'delivered' });
  });

  it.each([400, 401, 403, 404, 409, 410, 422, 499])('%d refuses for good', (status) => {
    expect(judge(status)).toEqual({ kind: 'refused', error: `the webhook answered ${String(status)}` });
  });

  it.each([100, 301, 302, 307, 308, 408, 425, 429, 500, 502, 503, 599])('%d is tried again', (status) => {
    expect(judge(status)).toMatchObject({ kind: 'again', error: `the webhook answered ${String(status)}` });
  });

  it.each([
    ['7', 7_000],
    ['0', 1_000],
    ['100000', 3_600_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 1_000],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 3_600_000],
    ['soon', undefined],
    ['', undefined],
  ])('that asks to come again after %j is heard from a second to an hour', (retryAfter, afterMs) => {
    expect(judge(429, retryAfter)).toMatchObject({ kind: 'again', afterMs });
    expect(judge(503, retryAfter)).toMatchObject({ kind: 'again', afterMs });
  });
});
