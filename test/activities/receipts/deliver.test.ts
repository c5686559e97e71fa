import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDeliveryActivities, createReceiptActivities } from '../../../activities/receipts/activities';
import { beginDeliveries, forgetBegun } from '../../../activities/receipts/outbox';
import { openStore, type Store } from '../../../activities/receipts/store';
import { answer, drop, hang, isSigned, WebhookServer } from '../../helpers/webhook-server';

const SECRET = 'a secret of the test, planted';

describe('the delivery of a receipt', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-deliver-'));
  const now = new Date('2026-01-01T00:00:00.000Z');
  let files = 0;
  let store: Store;
  let webhook: WebhookServer;
  let ending: AbortController;
  let secret: () => Promise<string>;

  const receipts = () => createReceiptActivities({ store, now: () => now.toISOString() });
  const queue = (receiptId: string, attemptId = 'a1') =>
    receipts().queueReceipt({
      receiptId,
      attemptId,
      resultRef: `temporal:task/default/T-1:${attemptId}`,
      outcome: 'completed',
    });
  const deliveries = () =>
    createDeliveryActivities({
      store,
      webhook: { url: new URL(webhook.url), secret: () => secret() },
      now: () => now,
      signal: () => ending.signal,
    });
  const deliver = (receiptId: string) => deliveries().postReceipt({ receiptId });
  const stored = async (receiptId: string) =>
    (await receipts().listReceipts({ tenantId: 'default', after: 0, limit: 100 })).receipts.find(
      (receipt) => receipt.receiptId === receiptId,
    );

  beforeEach(async () => {
    files += 1;
    store = await openStore(join(directory, `${String(files)}.db`));
    webhook = await WebhookServer.start();
    ending = new AbortController();
    secret = () => Promise.resolve(SECRET);
  });
  afterEach(async () => {
    await webhook.stop();
    await store.destroy();
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('posts the receipt, whose it is and how the attempt ended, signed, under its id (RQ-14)', async () => {
    const { sequence } = await queue('r1');
    expect(await deliver('r1')).toEqual({ receiptId: 'r1', state: 'delivered', error: null });
    const [request] = webhook.requests;
    if (request === undefined) throw new Error('nothing came');
    expect(JSON.parse(request.body)).toEqual({
      receiptId: 'r1',
      attemptId: 'a1',
      resultRef: 'temporal:task/default/T-1:a1',
      sequence,
      queuedAt: now.toISOString(),
      tenantId: 'default',
      taskId: 'T-1',
      outcome: 'completed',
    });
    expect(request.path).toBe('/hook');
    expect(request.headers).toMatchObject({
      'idempotency-key': 'r1',
      'content-type': 'application/json',
      'perdure-timestamp': String(now.getTime() / 1_000),
    });
    expect(isSigned(request, SECRET)).toBe(true);
    expect(isSigned({ ...request, body: `${request.body} ` }, SECRET)).toBe(false);
    expect(isSigned(request, 'another secret')).toBe(false);
    expect(await stored('r1')).toMatchObject({ state: 'delivered', deliveredAt: now.toISOString() });
  });

  it('sends those of its attempt that come before it first, and those of other attempts not at all (RQ-13)', async () => {
    for (const [receiptId, attemptId] of [
      ['r1', 'a1'],
      ['other', 'a2'],
      ['r2', 'a1'],
      ['r3', 'a1'],
    ] as const) {
      await queue(receiptId, attemptId);
    }
    await deliver('r2');
    expect(webhook.keys()).toEqual(['r1', 'r2']);
    await deliver('r1');
    await deliver('r3');
    expect(webhook.keys()).toEqual(['r1', 'r2', 'r3']);
    expect((await stored('other'))?.state).toBe('queued');
  });

  it('sends none after one of its attempt that did not come through (RQ-13)', async () => {
    await queue('r1');
    await queue('r2');
    webhook.play(answer(500));
    await expect(deliver('r2')).rejects.toMatchObject({ type: 'receipt_undelivered', nonRetryable: false });
    expect(webhook.keys()).toEqual(['r1']);
    webhook.play(answer(204));
    await deliver('r2');
    expect(webhook.keys()).toEqual(['r1', 'r1', 'r2']);
  });

  it('that is refused for good is visible as failed, and the next of its attempt go on', async () => {
    await queue('r1');
    await queue('r2');
    webhook.play(answer(410, {}, 'a body that nobody keeps'), answer(204));
    expect(await deliver('r1')).toEqual({ receiptId: 'r1', state: 'failed', error: 'the webhook answered 410' });
    await deliver('r2');
    expect(await stored('r1')).toMatchObject({
      state: 'failed',
      error: 'the webhook answered 410',
      failedAt: now.toISOString(),
    });
    expect(await deliver('r1')).toMatchObject({ state: 'failed' });
    expect(webhook.keys()).toEqual(['r1', 'r2']);
  });

  it('that was given up begins anew when somebody asks for it', async () => {
    await queue('r1');
    expect(await deliveries().giveUpReceipt({ receiptId: 'r1', error: 'given up: x' })).toMatchObject({
      state: 'failed',
    });
    expect(await receipts().resendReceipts({ tenantId: 'other', receiptIds: [] })).toEqual({
      success: true,
      resent: 0,
    });
    expect(await receipts().resendReceipts({ tenantId: 'default', receiptIds: ['r1'] })).toEqual({
      success: true,
      resent: 1,
    });
    expect(await deliver('r1')).toMatchObject({ state: 'delivered', error: null });
    expect(await deliveries().giveUpReceipt({ receiptId: 'r1', error: 'too late' })).toMatchObject({
      state: 'delivered',
      error: null,
    });
    expect(await receipts().resendReceipts({ tenantId: 'default', receiptIds: [] })).toMatchObject({ resent: 0 });
  });

  it('follows no redirect', async () => {
    await queue('r1');
    const other = await WebhookServer.start();
    webhook.play(answer(307, { location: other.url }));
    await expect(deliver('r1')).rejects.toThrow('the webhook answered 307');
    expect({ here: webhook.requests.length, there: other.requests.length }).toEqual({ here: 1, there: 0 });
    await other.stop();
  });

  it('waits as long as Retry-After says', async () => {
    await queue('r1');
    webhook.play(answer(429, { 'retry-after': '120' }));
    await expect(deliver('r1')).rejects.toMatchObject({ nextRetryDelay: 120_000, nonRetryable: false });
  });

  it('is sent again under the same id when the connection broke after the body was read', async () => {
    await queue('r1');
    webhook.play(drop, answer(200));
    await expect(deliver('r1')).rejects.toThrow('the webhook was not reached: ECONNRESET');
    await deliver('r1');
    expect(webhook.keys()).toEqual(['r1', 'r1']);
    expect(webhook.requests[1]?.body).toBe(webhook.requests[0]?.body);
  });

  it('is let go of when its worker ends, and tried again', async () => {
    await queue('r1');
    webhook.play(hang);
    const delivering = expect(deliver('r1')).rejects.toMatchObject({
      type: 'receipt_undelivered',
      nonRetryable: false,
    });
    while (webhook.requests.length === 0) await new Promise(setImmediate);
    ending.abort();
    await delivering;
    expect((await stored('r1'))?.state).toBe('queued');
  });

  it('waits for an answer no longer than 10 seconds', async () => {
    await queue('r1');
    webhook.play(hang);
    await expect(deliver('r1')).rejects.toThrow('the webhook did not answer in time');
  });

  it('is over once the status is there, however long the body goes on', async () => {
    await queue('r1');
    const chunk = 'x'.repeat(64 * 1024);
    let isClosed = false;
    webhook.play((response) => {
      response.writeHead(200);
      response.on('close', () => (isClosed = true));
      const flood = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', flood);
      };
      flood();
    });
    expect(await deliver('r1')).toMatchObject({ state: 'delivered' });
    while (!isClosed) await new Promise(setImmediate);
  });

  it('keeps an acknowledgement that came before the mark, and sends nothing that is acknowledged', async () => {
    await queue('r1');
    await queue('r2');
    const acknowledge = (receiptId: string) =>
      receipts().acknowledgeReceipts({ tenantId: 'default', receiptIds: [receiptId] });
    webhook.play(async (response) => {
      await acknowledge('r1');
      response.writeHead(204).end();
    });
    expect(await deliver('r1')).toMatchObject({ state: 'acknowledged' });
    expect(await stored('r1')).toMatchObject({ state: 'acknowledged', deliveredAt: now.toISOString() });
    await acknowledge('r2');
    expect(await deliver('r2')).toMatchObject({ state: 'acknowledged' });
    expect(webhook.keys()).toEqual(['r1']);
  });

  it.each([
    [
      'nobody listens',
      async () =>
        webhook
          .stop()
          .then(() => WebhookServer.start())
          .then((other) => (webhook = other)),
      null,
    ],
    [
      'the secret cannot be read',
      () => (secret = () => Promise.reject(new Error(`no ${SECRET}`))),
      "the webhook's secret cannot be read",
    ],
  ])('says why it is to be tried again when %s, and nothing secret', async (_, trouble, words) => {
    await queue('r1');
    const dead = new URL(webhook.url);
    await trouble();
    const { postReceipt } = createDeliveryActivities({
      store,
      webhook: { url: dead, secret: () => secret() },
      now: () => now,
      signal: () => ending.signal,
    });
    const error = await postReceipt({ receiptId: 'r1' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      type: 'receipt_undelivered',
      message: words ?? 'the webhook was not reached: ECONNREFUSED',
    });
    expect(JSON.stringify(error)).not.toContain(SECRET);
  });

  it.each([
    ['holds no such receipt', 'r2', 'store does not hold it'],
    ['has no webhook', 'r1', 'has no webhook'],
  ])('is left to another orchestrator by one that %s', async (_, receiptId, words) => {
    await queue('r1');
    const { postReceipt } = createDeliveryActivities({
      store,
      webhook: null,
      now: () => now,
      signal: () => ending.signal,
    });
    await expect(postReceipt({ receiptId })).rejects.toThrow(words);
  });

  describe('begins', () => {
    const begun: string[] = [];
    const begin = (at: Date) => beginDeliveries(store, (receiptId) => Promise.resolve(void begun.push(receiptId)), at);
    beforeEach(() => begun.splice(0));

    it('once for every queued receipt, in the order of the queue, those from before a webhook included', async () => {
      for (const receiptId of ['r1', 'r2', 'r3']) await queue(receiptId);
      await receipts().acknowledgeReceipts({ tenantId: 'default', receiptIds: ['r2'] });
      await begin(now);
      await begin(now);
      expect(begun).toEqual(['r1', 'r3']);
    });

    it('again for one that the server did not take, after a restart, and after six hours', async () => {
      await queue('r1');
      await expect(beginDeliveries(store, () => Promise.reject(new Error('away')), now)).rejects.toThrow('away');
      await begin(now);
      await forgetBegun(store);
      await begin(now);
      await begin(new Date(now.getTime() + 6 * 3_600_000));
      await begin(new Date(now.getTime() + 6 * 3_600_000 + 1));
      expect(begun).toEqual(['r1', 'r1', 'r1']);
    });

    it('never again for one that is delivered or refused', async () => {
      await queue('r1');
      await queue('r2', 'a2');
      webhook.play(answer(204), answer(400));
      await deliver('r1');
      await deliver('r2');
      await forgetBegun(store);
      await begin(now);
      expect(begun).toEqual([]);
    });
  });
});
