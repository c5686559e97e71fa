import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReceiptActivities } from '../../../activities/receipts/activities';
import { removeAcknowledged } from '../../../activities/receipts/ledger';
import { openStore, type Store } from '../../../activities/receipts/store';
import { listReceiptsSchema, type ListReceipts, type ReceiptState } from '../../../contract/receipt-store';

const DAY_MS = 86_400_000;

interface Owner {
  readonly tenantId: string;
  readonly hostId: string;
}

const tellNobody = () => Promise.resolve();

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

  it.each([
    ['result', { resultRef: 'temporal:other' }],
    ['attempt', { attemptId: 'b' }],
  ])('refuse another %s under a known id and overwrite nothing (RQ-5, P56)', async (_, other) => {
    await expect(activities().queueReceipt({ ...order('r1'), ...other })).rejects.toMatchObject({
      type: 'receipt_conflict',
      nonRetryable: true,
    });
    expect(await activities().queueReceipt(order('r1'))).toMatchObject(order('r1'));
  });

  it('refuse an attempt that never passed the fence and store nothing (RQ-6)', async () => {
    const unfenced = { ...order('r-unfenced'), isFenced: false };
    await expect(activities().queueReceipt(unfenced)).rejects.toMatchObject({
      type: 'receipt_attempt_unknown',
      nonRetryable: true,
    });
    const rows = await store.selectFrom('receipts').selectAll().where('receipt_id', '=', 'r-unfenced').execute();
    expect(rows).toEqual([]);
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

describe('the queue of receipts', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-receipts-'));
  let store: Store;
  let files = 0;
  let now = new Date();
  const activities = () => createReceiptActivities({ store, now: () => now.toISOString() });
  const queue = (taskId: string, attemptId: string, { tenantId = 'default', hostId }: Partial<Owner> = {}) =>
    activities().queueReceipt({
      ...(hostId !== undefined && { hostId }),
      receiptId: `result:${attemptId}`,
      attemptId,
      resultRef: `temporal:task/${tenantId}/${taskId}:${attemptId}`,
      outcome: 'completed',
      isFenced: true,
    });
  const list = async (change: Partial<ListReceipts> = {}) => {
    const request = listReceiptsSchema.parse({ tenantId: 'default', ...change });
    return (await activities().listReceipts(request)).receipts;
  };
  const acknowledge = (receiptIds: string[], tenantId = 'default') =>
    activities().acknowledgeReceipts({ tenantId, receiptIds });

  beforeEach(async () => {
    files += 1;
    now = new Date('2026-01-01T00:00:00.000Z');
    store = await openStore(join(directory, `${String(files)}.db`));
  });
  afterEach(() => store.destroy());
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('is listed in its order behind a sequence, 100 at a time unless told otherwise (RQ-13)', async () => {
    for (let n = 1; n <= 120; n += 1) await queue('T', `a${String(n)}`);
    const first = await list();
    expect(first.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    expect((await list({ after: first.at(-1)?.sequence ?? 0 })).map(({ sequence }) => sequence)).toHaveLength(20);
    expect((await list({ after: 5, limit: 2 })).map(({ sequence }) => sequence)).toEqual([6, 7]);
  });

  it('is listed by task and by state, and never to another tenant', async () => {
    await queue('T:1', 'a1');
    await queue('T2', 'a2');
    await queue('T:1', 'a3', { tenantId: 'other' });
    await acknowledge(['result:a2']);
    expect(await list({ taskId: 'T:1' })).toMatchObject([{ attemptId: 'a1', tenantId: 'default', state: 'queued' }]);
    const inState = async (state: ReceiptState) => (await list({ state })).map(({ attemptId }) => attemptId);
    expect({ queued: await inState('queued'), acknowledged: await inState('acknowledged') }).toEqual({
      queued: ['a1'],
      acknowledged: ['a2'],
    });
    expect(await list({ tenantId: 'third' })).toEqual([]);
  });

  it('takes an acknowledgement once: again changes nothing, and a repeat of the receipt is still known (RQ-15)', async () => {
    await queue('T', 'a1');
    const first = await acknowledge(['result:a1']);
    expect(first).toMatchObject({
      success: true,
      receipts: [{ state: 'acknowledged', acknowledgedAt: now.toISOString() }],
    });
    now = new Date(now.getTime() + DAY_MS);
    expect(await acknowledge(['result:a1'])).toEqual(first);
    expect(await queue('T', 'a1')).toMatchObject({ sequence: 1 });
    expect(await list()).toHaveLength(1);
  });

  it('refuses an unknown id, or one of another tenant, and then acknowledges none', async () => {
    await queue('T', 'a1');
    await queue('T', 'a2', { tenantId: 'other' });
    const refused = { success: false, code: 'receipt_unknown', error: 'there is no receipt result:a2' };
    expect(await acknowledge(['result:a1', 'result:a2'])).toMatchObject(refused);
    expect((await list())[0]?.state).toBe('queued');
  });

  it('removes what was acknowledged more than 30 days ago, and nothing else (RQ-15)', async () => {
    for (const attemptId of ['a1', 'a2', 'a3']) await queue('T', attemptId);
    await acknowledge(['result:a1']);
    await store
      .updateTable('receipts')
      .set({ delivered_at: now.toISOString() })
      .where('attempt_id', '=', 'a2')
      .execute();
    const at = (ms: number) => removeAcknowledged(store, new Date(now.getTime() + ms), tellNobody);
    expect(await at(30 * DAY_MS)).toBe(0);
    expect(await at(30 * DAY_MS + 1)).toBe(1);
    expect(await at(400 * DAY_MS)).toBe(0);
    expect((await list()).map(({ attemptId }) => attemptId)).toEqual(['a2', 'a3']);
  });

  it('has the hosts told first, and stays when they cannot be (DW-17)', async () => {
    const ids = Array.from({ length: 252 }, (_, n) => `a${String(n)}`);
    for (const [n, attemptId] of ids.entries()) await queue('T', attemptId, { hostId: n === 3 ? 'b' : 'a' });
    await acknowledge(ids.slice(0, 250).map((id) => `result:${id}`));
    await acknowledge(['result:a250']);
    const later = new Date(now.getTime() + 31 * DAY_MS);
    const refuse = () => Promise.reject(new Error('the server is away'));
    await expect(removeAcknowledged(store, later, refuse)).rejects.toThrow('away');
    expect((await list({ limit: 250 })).length).toBe(250);
    const told: [string, number][] = [];
    const tell = (hostId: string, attemptIds: string[]): Promise<void> => {
      told.push([hostId, attemptIds.length]);
      return Promise.resolve();
    };
    expect(await removeAcknowledged(store, later, tell)).toBe(251);
    expect(told).toEqual([
      ['a', 250],
      ['b', 1],
    ]);
  });

  it('goes on with its count when the last receipts were removed, so that a reader misses none', async () => {
    for (const attemptId of ['a1', 'a2']) await queue('T', attemptId);
    await acknowledge(['result:a1', 'result:a2']);
    await removeAcknowledged(store, new Date(now.getTime() + 31 * DAY_MS), tellNobody);
    expect(await list()).toEqual([]);
    expect((await queue('T', 'a3')).sequence).toBe(3);
    await acknowledge(['result:a3']);
    await removeAcknowledged(store, new Date(now.getTime() + 90 * DAY_MS), tellNobody);
    expect((await queue('T', 'a4')).sequence).toBe(4);
  });
});
