import type Database from 'libsql';

const TABLES = `
  create table if not exists receipts (
    sequence integer primary key,
    receipt_id text not null unique,
    attempt_id text not null,
    result_ref text not null,
    queued_at text not null
  );
  create table if not exists removed (id integer primary key, sequence integer not null);
  create table if not exists archive (
    task text not null,
    kind text not null,
    id text not null,
    body text not null,
    primary key (task, kind, id)
  );
`;

/** Columns that came after the first version; each is empty in what an older worker writes. */
const LATER_COLUMNS = [
  'tenant_id',
  'task_id',
  'outcome',
  'host_id',
  'begun_at',
  'delivered_at',
  'acknowledged_at',
  'failed_at',
  'error',
] as const;

const INDEXES = `
  create index if not exists receipts_task on receipts (task_id, sequence);
  create index if not exists receipts_attempt on receipts (attempt_id);
  create index if not exists receipts_queued on receipts (sequence)
    where acknowledged_at is null and delivered_at is null and failed_at is null;
`;

/** What `temporal:task/` is followed by: `<tenant>/<task>:<attempt>`. */
const REST = "substr(result_ref, length('temporal:task/') + 1)";

/** Says whose the receipts are that a worker of the first version wrote. */
const NAME_TASKS = `
  update receipts
  set tenant_id = substr(${REST}, 1, instr(${REST}, '/') - 1),
      task_id = substr(${REST}, instr(${REST}, '/') + 1, length(${REST}) - instr(${REST}, '/') - length(attempt_id) - 1)
  where tenant_id is null
    and result_ref like 'temporal:task/%'
    and result_ref like '%:' || attempt_id
    and instr(${REST}, '/') > 1;
`;

/**
 * Brings a store of any earlier version, or an empty file, to this one. Without a pause in between: another handle of
 * this process would wait for the lock, and this one for its turn.
 */
export function migrate(database: Database.Database): void {
  // Immediate: a change that begins by reading would fail where another worker writes in between.
  database.exec('begin immediate');
  try {
    database.exec(TABLES);
    const known = database.prepare('select name from pragma_table_info(?)').pluck().all('receipts');
    for (const name of LATER_COLUMNS) {
      if (!known.includes(name)) database.exec(`alter table receipts add column ${name} text`);
    }
    database.exec(INDEXES);
    database.exec(NAME_TASKS);
    database.exec('commit');
  } catch (error) {
    database.exec('rollback');
    throw error;
  }
}
