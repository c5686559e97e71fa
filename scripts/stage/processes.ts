import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, isAlive, signalExactly, type ProcessIdentity } from '../../cli/up/process-identity';

const PID = /^\d+$/;

/** A process with everything that names its files: command line and environment. */
interface Found {
  readonly pid: number;
  readonly text: string;
}

function linuxProcesses(): Found[] {
  const pids = readdirSync('/proc').filter((name) => PID.test(name));
  return pids.flatMap((pid) => {
    try {
      const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'latin1');
      return [{ pid: Number(pid), text: `${read('cmdline')}\0${read('environ')}` }];
    } catch {
      // It ended meanwhile, or is somebody else's.
      return [];
    }
  });
}

function macProcesses(): Found[] {
  const rows = execFileSync('ps', ['-axwwE', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
  return rows.split('\n').map((row) => ({ pid: Number.parseInt(row, 10), text: row }));
}

/** Every live process that was started on a folder: named in its command line or its environment. */
export function processesOn(folder: string): ProcessIdentity[] {
  const all = process.platform === 'darwin' ? macProcesses() : linuxProcesses();
  return all
    .filter(({ pid, text }) => pid !== process.pid && text.includes(folder))
    .flatMap(({ pid }) => identityOf(pid) ?? []);
}

/** Ends exactly these processes by force and waits until they are gone. */
export async function endAll(processes: readonly ProcessIdentity[]): Promise<void> {
  for (const each of processes) signalExactly(each, 'SIGKILL');
  while (processes.some(isAlive)) await sleep(20);
}
