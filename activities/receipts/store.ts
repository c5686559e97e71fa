import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import { Kysely, sql, SqliteDialect } from 'kysely';
import { migrate } from './migrations';

/** A row of the queue; times are ISO 8601, null until it happened. */
export interface ReceiptRow {
  /** Position in the queue; grows by one per accepted receipt. */
  sequence: number;
  receipt_id: string;
  attempt_id: string;
  result_ref: string;
  queued_at: string;
  tenant_id: string | null;
  task_id: string | null;
  outcome: string | null;
  /** The host that has the attempt's output. */
  host_id: string | null;
  /** When its delivery was handed to the server; null as long as that is to be done. */
  begun_at: string | null;
  delivered_at: string | null;
  acknowledged_at: string | null;
  failed_at: string | null;
  error: string | null;
}

/** Tables of the receipt store. */
export interface StoreSchema {
  receipts: ReceiptRow;
  /** Highest sequence among the receipts that were removed: one row, or none. */
  removed: { id: 1; sequence: number };
  archive: { task: string; kind: string; id: string; body: string };
}

export type Store = Kysely<StoreSchema>;

/**
 * Opens the embedded store and makes what is missing of its tables, also in one that an earlier version made.
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
  try {
    migrate(database);
  } catch (error) {
    database.close();
    throw error;
  }
  const store = new Kysely<StoreSchema>({ dialect: new SqliteDialect({ database }) });
  // It closes only what it has used.
  await sql`select 1`.execute(store);
  return store;
}
