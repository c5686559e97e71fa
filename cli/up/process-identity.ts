import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { hasCode } from './atomic-file';

/** Names one process for ever: a pid alone is used again, with its start time and boot it is not. */
export const processIdentitySchema = z.object({
  pid: z.int().positive(),
  startTime: z.string(),
  bootId: z.string(),
});
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;

const isMac = process.platform === 'darwin';

function bootId(): string {
  if (isMac) return execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8' }).trim();
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** State and start time of a process, or undefined when there is none. */
function look(pid: number): { isZombie: boolean; startTime: string } | undefined {
  if (isMac) return lookWithPs(pid);
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    // The name before the last bracket may hold blanks and brackets itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { isZombie: fields[0] === 'Z' || fields[0] === 'X', startTime: fields[19] ?? '' };
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH')) return undefined;
    throw error;
  }
}

function lookWithPs(pid: number): { isZombie: boolean; startTime: string } | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const row = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { encoding: 'utf8', stdio }).trim();
    const [state = '', ...startTime] = row.split(/\s+/);
    return row === '' ? undefined : { isZombie: state.startsWith('Z'), startTime: startTime.join(' ') };
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'status' in error && error.status === 1) return undefined;
    throw error;
  }
}

/** Identity of the process that has this pid now, or undefined when none has. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const found = look(pid);
  return found && !found.isZombie ? { pid, startTime: found.startTime, bootId: bootId() } : undefined;
}

/** Whether exactly this process still lives; a zombie is dead. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  return now?.startTime === identity.startTime && now.bootId === identity.bootId;
}

/** Signals exactly this process; false when it is gone. */
export function signalExactly(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
    throw error;
  }
}
