import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReceiptActivities } from '../../../activities/receipts/activities';
import { openStore, type Store } from '../../../activities/receipts/store';

describe('receipts', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-receipts-'));
  const file = join(directory, 'receipts.db');
  let store: Store;
  const order = (receiptId: string) => ({ receiptId, attemptId: 'a', resultRef: `temporal:${receiptId}` });
  const activities = () => createReceiptActivities({ store, now: () => '2026-01-01T00:00:00.000Z' });

  beforeEach(async () => {
    store = await openStore(file);
  });
  afterEach(() => store.destroy());
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('are queued once per receipt id and answer a repeat with the first one (RQ-4)', async () => {
    const first = await activities().queueReceipt(order('r1'));
    expect(await activities().queueReceipt(order('r1'))).toEqual(first);
    expect((await activities().queueReceipt(order('r2'))).sequence).toBe(first.sequence + 1);
  });

  it('are there after the store was opened again, with the sequence going on', async () => {
    expect((await activities().queueReceipt(order('r2'))).sequence).toBe(2);
    expect((await activities().queueReceipt(order('r3'))).sequence).toBe(3);
  });

  it('refuse another content under a known id and overwrite nothing (RQ-5)', async () => {
    const other = { ...order('r1'), resultRef: 'temporal:other' };
    await expect(activities().queueReceipt(other)).rejects.toMatchObject({
      type: 'receipt_conflict',
      nonRetryable: true,
    });
    expect((await activities().queueReceipt(order('r1'))).resultRef).toBe('temporal:r1');
  });

  it('are one when several writers queue the same at once (P78)', async () => {
    const other = await openStore(file);
    const both = [
      activities(),
      createReceiptActivities({ store: other, now: () => '2026-01-02T00:00:00.000Z' }),
    ] as const;
    const receipts = await Promise.all(
      Array.from({ length: 20 }, (_, n) => both[n % 2 === 0 ? 0 : 1].queueReceipt(order('r9'))),
    );
    expect(new Set(receipts.map((receipt) => receipt.sequence)).size).toBe(1);
    await other.destroy();
  });

  it('say that storage failed, as something to try again (RQ-12)', async () => {
    const closed = await openStore(join(directory, 'closed.db'));
    await closed.destroy();
    const broken = createReceiptActivities({ store: closed, now: () => '' });
    await expect(broken.queueReceipt(order('r1'))).rejects.toMatchObject({
      type: 'receipt_storage_failed',
      nonRetryable: false,
    });
  });
});
