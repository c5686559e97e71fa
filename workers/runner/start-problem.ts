import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { errorCode } from '../../activities/provider/thrown';
import type { RunRequest, SpawnError } from '../../activities/provider/run-directory';

// ELF, the Mach-O forms, and a script's first line.
const HEADERS = ['7f454c46', 'cffaedfe', 'cefaedfe', 'feedface', 'feedfacf', 'cafebabe'];
const SCRIPT = '2321';

function headerOf(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    const header = Buffer.alloc(4);
    readSync(descriptor, header);
    return header.toString('hex');
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Why the provider cannot be started, or null.
 * Spawning tells a missing directory as a missing command, and runs a file that is no program with /bin/sh.
 */
export function startProblem({ command, cwd }: RunRequest): SpawnError | null {
  try {
    if (!statSync(cwd).isDirectory()) {
      return { code: 'ENOTDIR', message: `${cwd} is not a directory`, subject: 'workspace' };
    }
  } catch (error) {
    return { code: errorCode(error), message: `${cwd} cannot be entered`, subject: 'workspace' };
  }
  try {
    const header = headerOf(command);
    if (HEADERS.includes(header) || header.startsWith(SCRIPT)) return null;
    return { code: 'ENOEXEC', message: `${command} is not a program`, subject: 'command' };
  } catch (error) {
    // A program may be executable without being readable: the spawn itself will tell.
    if (errorCode(error) === 'EACCES') return null;
    return { code: errorCode(error), message: `${command} cannot be opened`, subject: 'command' };
  }
}
