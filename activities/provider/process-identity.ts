// Import-light on purpose: the runner loads this.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import type { Liveness } from '../../contract/activities';
import { errorCode } from './thrown';

/** Names one process for ever: a pid alone is used again, with its start time and boot it is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  /** Pid namespace, because a pid means nothing outside its own; empty where there is none. */
  readonly namespace: string;
}

/** One row of the process table. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: string;
  readonly isZombie: boolean;
}

const isMac = process.platform === 'darwin';
let machine: { bootId: string; namespace: string } | undefined;

function thisMachine(): { bootId: string; namespace: string } {
  machine ??= isMac
    ? { bootId: execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8' }).trim(), namespace: '' }
    : {
        bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
        namespace: readlinkSync('/proc/self/ns/pid'),
      };
  return machine;
}

/** Reads one line of /proc/<pid>/stat; the name in it may hold blanks and brackets. */
function parseStat(stat: string): ProcessRow | undefined {
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const startTime = rest[15];
  if (state === undefined || startTime === undefined) return undefined;
  return {
    pid: Number.parseInt(stat, 10),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime,
    isZombie: state === 'Z' || state === 'X',
  };
}

const PS_ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/;

/** Parses `ps -o pid=,ppid=,pgid=,state=,lstart=`; macOS tells no session id, so the group stands for it. */
function parsePsRow(line: string): ProcessRow | undefined {
  const [, pid, parent, group, state, startTime] = PS_ROW.exec(line) ?? [];
  if (pid === undefined || state === undefined || startTime === undefined) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: Number(group),
    startTime: startTime.trim(),
    isZombie: state.startsWith('Z'),
  };
}

const PS_COLUMNS = ['-o', 'pid=,ppid=,pgid=,state=,lstart='];

/** Runs ps; that it finds no such process is an answer too. */
export function ps(args: string[]): string {
  const { stdout, error } = spawnSync('ps', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (error !== undefined) throw error;
  return stdout;
}

const isGone = (error: unknown): boolean => ['ENOENT', 'ESRCH'].includes(errorCode(error));

/** The process table's row of a pid, or undefined when no such process exists. */
export function processRow(pid: number): ProcessRow | undefined {
  if (isMac) return parsePsRow(ps([...PS_COLUMNS, '-p', String(pid)]));
  try {
    return parseStat(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Identity of the process that has this pid now, or undefined when none has. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const row = processRow(pid);
  if (row === undefined || row.isZombie) return undefined;
  return { pid, startTime: row.startTime, ...thisMachine() };
}

/** Identity of this very process. */
export function ownIdentity(): ProcessIdentity {
  const identity = identityOf(process.pid);
  if (identity === undefined) throw new Error('this process cannot see itself in the process table');
  return identity;
}

/** Whether exactly this process still lives; a zombie is dead, what cannot be looked at is unknown. */
export function isSameProcess(identity: ProcessIdentity): Liveness {
  try {
    const { bootId, namespace } = thisMachine();
    if (bootId !== identity.bootId) return 'dead';
    if (namespace !== identity.namespace) return 'unknown';
    return identityOf(identity.pid)?.startTime === identity.startTime ? 'alive' : 'dead';
  } catch {
    return 'unknown';
  }
}
