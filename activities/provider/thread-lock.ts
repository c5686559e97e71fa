import { readFileSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isUuid } from './run-directory';

/** `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF` */
const FLOCK = /^\d+: FLOCK\s+\S+\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s/;

/** Whether a process has a file open, by what its descriptors are links to. */
export function hasOpen(pid: number, path: string): boolean {
  const folder = `/proc/${String(pid)}/fd`;
  try {
    return readdirSync(folder).some((descriptor) => {
      try {
        return readlinkSync(join(folder, descriptor)) === path;
      } catch {
        return false;
      }
    });
  } catch {
    // Somebody else's process: the inode alone must do.
    return true;
  }
}

/**
 * Pid of the process that has a Codex thread open on this host, or null.
 * It reads /proc/locks: trying the lock itself could make a starting Codex fail.
 */
export function threadHolder(codexHome: string, threadId: string): number | null {
  if (!isUuid(threadId) || process.platform !== 'linux') return null;
  try {
    const path = realpathSync(join(codexHome, 'thread-writer-locks', `${threadId}.lock`));
    const inode = String(statSync(path).ino);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, pid, locked] = FLOCK.exec(line) ?? [];
      if (locked === inode && hasOpen(Number(pid), path)) return Number(pid);
    }
    return null;
  } catch {
    return null;
  }
}
