import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import { Kysely, SqliteDialect } from 'kysely';

/** Tables of the receipt store. */
export interface StoreSchema {
  receipts: {
    /** Position in the queue; grows by one per accepted receipt. */
    sequence: number;
    receipt_id: string;
    attempt_id: string;
    result_ref: string;
    queued_at: string;
  };
  archive: { task: string; kind: string; id: string; body: string };
}

export type Store = Kysely<StoreSchema>;

/**
 * Opens the embedded store and makes its tables where they are missing.
 *
 * @param file Path of the SQLite file; its directory is made when missing.
 * @throws Error of the file system or of SQLite; opening again later may succeed.
 */
export async function openStore(file: string): Promise<Store> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const database = new Database(file);
  // First: two workers may open a new store at once, and the change of the journal takes a lock.
  database.pragma('busy_timeout = 5000');
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  const store = new Kysely<StoreSchema>({ dialect: new SqliteDialect({ database }) });
  await store.schema
    .createTable('receipts')
    .ifNotExists()
    .addColumn('sequence', 'integer', (column) => column.primaryKey())
    .addColumn('receipt_id', 'text', (column) => column.notNull().unique())
    .addColumn('attempt_id', 'text', (column) => column.notNull())
    .addColumn('result_ref', 'text', (column) => column.notNull())
    .addColumn('queued_at', 'text', (column) => column.notNull())
    .execute();
  await store.schema
    .createTable('archive')
    .ifNotExists()
    .addColumn('task', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('archive_key', ['task', 'kind', 'id'])
    .execute();
  return store;
}
