import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { createReceiptActivities } from '../../../activities/receipts/activities';
import { openStore } from '../../../activities/receipts/store';

/** What the first version of the store had made. */
const FIRST_SCHEMA = `
  create table "receipts" ("sequence" integer primary key, "receipt_id" text not null unique,
    "attempt_id" text not null, "result_ref" text not null, "queued_at" text not null);
  create table "archive" ("task" text not null, "kind" text not null, "id" text not null, "body" text not null,
    constraint "archive_key" primary key ("task", "kind", "id"));
`;

describe('a store of the first version', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-store-'));
  let files = 0;
  const firstVersion = () => {
    files += 1;
    const file = join(directory, `${String(files)}.db`);
    const database = new Database(file);
    database.pragma('journal_mode = WAL');
    database.exec(FIRST_SCHEMA);
    const insert = database.prepare('insert into receipts values (?, ?, ?, ?, ?)');
    insert.run(1, 'result:a1', 'a1', 'temporal:task/default/T:1:a1', '2026-01-01T00:00:00.000Z');
    insert.run(2, 'result:a2', 'a2', 'temporal:task/acme/T-2:a2', '2026-01-02T00:00:00.000Z');
    insert.run(3, 'r3', 'a3', 'elsewhere', '2026-01-03T00:00:00.000Z');
    database.prepare('insert into archive values (?, ?, ?, ?)').run('task/default/T', 'attempt', 'a0', '{}');
    database.close();
    return file;
  };
  const listOf = (store: Awaited<ReturnType<typeof openStore>>, tenantId: string) =>
    createReceiptActivities({ store, now: () => '2026-02-01T00:00:00.000Z' }).listReceipts({
      tenantId,
      after: 0,
      limit: 10,
    });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('opens with all that it held, queued and under its task', async () => {
    const store = await openStore(firstVersion());
    expect((await listOf(store, 'default')).receipts).toEqual([
      {
        sequence: 1,
        receiptId: 'result:a1',
        attemptId: 'a1',
        resultRef: 'temporal:task/default/T:1:a1',
        queuedAt: '2026-01-01T00:00:00.000Z',
        tenantId: 'default',
        taskId: 'T:1',
        outcome: null,
        state: 'queued',
        deliveredAt: null,
        acknowledgedAt: null,
        failedAt: null,
        error: null,
      },
    ]);
    expect((await listOf(store, 'acme')).receipts).toMatchObject([{ receiptId: 'result:a2', taskId: 'T-2' }]);
    expect(await store.selectFrom('archive').selectAll().execute()).toHaveLength(1);
    expect(await store.selectFrom('receipts').selectAll().where('tenant_id', 'is', null).execute()).toHaveLength(1);
    await store.destroy();
  });

  it('goes on with its sequence, and knows a receipt again that it held (RQ-4)', async () => {
    const store = await openStore(firstVersion());
    const { queueReceipt } = createReceiptActivities({ store, now: () => '2026-02-01T00:00:00.000Z' });
    const known = { receiptId: 'result:a1', attemptId: 'a1', resultRef: 'temporal:task/default/T:1:a1' };
    expect(await queueReceipt(known)).toEqual({ ...known, sequence: 1, queuedAt: '2026-01-01T00:00:00.000Z' });
    expect(await queueReceipt({ ...known, receiptId: 'result:a4' })).toMatchObject({ sequence: 4 });
    await store.destroy();
  });

  it('is brought on once by several workers that open it at once', async () => {
    const file = firstVersion();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(file)));
    for (const store of stores) expect((await listOf(store, 'default')).receipts).toHaveLength(1);
    await Promise.all(stores.map((store) => store.destroy()));
  });

  it('still takes what a worker of the first version writes', async () => {
    const file = firstVersion();
    const store = await openStore(file);
    const older = new Database(file);
    older
      .prepare('insert into receipts (sequence, receipt_id, attempt_id, result_ref, queued_at) values (?, ?, ?, ?, ?)')
      .run(4, 'result:a4', 'a4', 'temporal:task/default/T:a4', '2026-01-04T00:00:00.000Z');
    older.close();
    expect(await store.selectFrom('receipts').selectAll().where('sequence', '=', 4).execute()).toHaveLength(1);
    await store.destroy();
    const again = await openStore(file);
    expect((await listOf(again, 'default')).receipts.map(({ sequence }) => sequence)).toEqual([1, 4]);
    await again.destroy();
  });

  it('is refused when it is no database, and left as it is', async () => {
    const file = join(directory, 'other.db');
    writeFileSync(file, 'this is a text file and no database at all, whatever its name says');
    await expect(openStore(file)).rejects.toThrow();
  });
});
