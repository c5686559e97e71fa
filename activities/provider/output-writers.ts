import { readdirSync, statSync } from 'node:fs';
import { errorCode } from './thrown';
import type { ProcessIdentity } from './process-identity';

/** Whether a process has a file open; one that cannot be looked into may have. */
function mayHold(pid: number, { dev, ino }: { dev: number; ino: number }): boolean {
  const folder = `/proc/${String(pid)}/fd`;
  try {
    return readdirSync(folder).some((name) => {
      const open = statSync(`${folder}/${name}`, { throwIfNoEntry: false });
      return open?.dev === dev && open.ino === ino;
    });
  } catch (error) {
    return !['ENOENT', 'ESRCH'].includes(errorCode(error));
  }
}

/**
 * Whether any of these processes may still add to an output. A provider of unknown identity has the file from its very
 * start, while what it runs in sessions of its own does not: when nobody has it, the provider has ended. True where
 * that cannot be told.
 */
export function mayPrint(processes: readonly ProcessIdentity[], output: string): boolean {
  if (process.platform !== 'linux') return true;
  const file = statSync(output, { throwIfNoEntry: false });
  return file === undefined || processes.some(({ pid }) => mayHold(pid, file));
}
