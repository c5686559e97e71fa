// Import-light on purpose: the runner loads this.
import { readdirSync, readFileSync } from 'node:fs';
import { errorCode } from './thrown';
import { identityOf, processRow, ps, type ProcessIdentity, type ProcessRow } from './process-identity';

const isMac = process.platform === 'darwin';
const PID = /^\d+$/;

const allPids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => PID.test(name))
    .map(Number);

/** Runs a look at a process that may vanish or belong to somebody else meanwhile. */
function tryLook<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

function environmentHolds(pid: number, text: string): boolean {
  const environment = tryLook(() => readFileSync(`/proc/${String(pid)}/environ`, 'latin1'));
  return environment !== undefined && `\0${environment}`.includes(`\0${text}`);
}

/** Whether the environment of a process has a variable, on Linux. */
export const hasVariable = (pid: number, name: string): boolean => environmentHolds(pid, `${name}=`);

function isUnreadableAndOurs(pid: number): boolean {
  try {
    readFileSync(`/proc/${String(pid)}/environ`);
    return false;
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(errorCode(error))) return false;
  }
  // Such a process's folder belongs to root; its status still tells whose it is.
  const [, uid] = /^Uid:\s+(\d+)/m.exec(tryLook(() => readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? '') ?? [];
  return uid !== undefined && Number(uid) === process.getuid?.();
}

/** Session leaders of our own user, begun after `first`, that hide their environment: whether marked is unknown. */
export function hiddenSince(first: ProcessIdentity): ProcessIdentity[] {
  if (isMac) return [];
  return processTable()
    .filter(({ pid, session, isZombie }) => pid === session && !isZombie)
    .filter(({ startTime }) => Number(startTime) >= Number(first.startTime))
    .filter(({ pid }) => isUnreadableAndOurs(pid))
    .map(({ pid, startTime }) => ({ ...first, pid, startTime }));
}

/** `ps -E` prints the environment behind the command, blank separated; good for values without blanks. */
function macMarkedPids(mark: string): number[] {
  return ps(['-axwwE', '-o', 'pid=,command='])
    .split('\n')
    .filter((line) => ` ${line} `.includes(` ${mark} `))
    .map((line) => Number.parseInt(line, 10));
}

/** Every live process whose environment holds exactly `NAME=VALUE`, this one excepted. */
export function markedProcesses(name: string, value: string): ProcessIdentity[] {
  const mark = `${name}=${value}`;
  const pids = isMac ? macMarkedPids(mark) : allPids().filter((pid) => environmentHolds(pid, `${mark}\0`));
  return pids
    .filter((pid) => pid !== process.pid)
    .map((pid) => tryLook(() => identityOf(pid)))
    .filter((identity) => identity !== undefined);
}

function processTable(): ProcessRow[] {
  const pids = isMac
    ? ps(['-axo', 'pid='])
        .split('\n')
        .map((line) => Number.parseInt(line, 10))
        .filter(Number.isInteger)
    : allPids();
  return pids.map((pid) => tryLook(() => processRow(pid))).filter((row) => row !== undefined);
}

/** Descendants of a process and members of its group and session, as far as parent links still tell. */
export function familyOf(root: ProcessIdentity): ProcessIdentity[] {
  const table = processTable();
  const leader = table.find(({ pid }) => pid === root.pid);
  // The number was used again: whatever is in that group now is foreign.
  if (leader !== undefined && leader.startTime !== root.startTime) return [];
  const family = new Set([root.pid]);
  for (let before = 0; before !== family.size;) {
    before = family.size;
    for (const row of table) {
      if (family.has(row.parent) || row.group === root.pid || row.session === root.pid) family.add(row.pid);
    }
  }
  family.delete(process.pid);
  return table
    .filter((row) => family.has(row.pid) && !row.isZombie)
    .map(({ pid, startTime }) => ({ ...root, pid, startTime }));
}
