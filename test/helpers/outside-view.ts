import { readdirSync, readFileSync } from 'node:fs';
import { ATTEMPT_MARK, RUNNER_MARK } from '../../contract/marks';

/** A live process as anyone on the machine sees it. */
export interface SeenProcess {
  readonly pid: number;
  readonly command: string;
  readonly environment: string;
  /** Whether it leads a session: runners and providers do, their helpers do not. */
  readonly isLeader: boolean;
}

function look(pid: number): SeenProcess | undefined {
  const file = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'latin1');
  try {
    const stat = file('stat');
    const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') return undefined;
    const command = file('cmdline').replaceAll('\0', ' ').trim();
    return { pid, command, environment: `\0${file('environ')}\0`, isLeader: session === String(pid) };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** Every live process but this one. */
export function allProcesses(): SeenProcess[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map(Number)
    .filter((pid) => pid !== process.pid)
    .map(look)
    .filter((seen) => seen !== undefined);
}

/** Processes that carry an attempt's mark. */
export const markedWith = (attemptId: string): SeenProcess[] =>
  allProcesses().filter(({ environment }) => environment.includes(`\0${ATTEMPT_MARK}=${attemptId}\0`));

/** Runners of a home, whatever became of their records. */
export const runnersOf = (home: string): SeenProcess[] =>
  allProcesses().filter(
    ({ command, environment }) => environment.includes(`\0${RUNNER_MARK}=`) && command.includes(`${home}/runs/`),
  );

/** Session leaders whose command line names a path: the runner by its run directory, the provider by its program. */
export const leadersOf = (path: string): SeenProcess[] =>
  allProcesses().filter(({ command, isLeader }) => isLeader && command.includes(path));

/** A figure of a process's memory in MiB: `VmRSS` now, `VmHWM` at its highest. */
export function memoryOf(pid: number, figure: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${figure}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}

/** Kills processes that may have ended by themselves meanwhile. */
export function killThem(processes: readonly Pick<SeenProcess, 'pid'>[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has.
    }
  }
}

/** Kills everything whose command line names a path. */
export const killAllOf = (path: string): void => {
  killThem(allProcesses().filter(({ command }) => command.includes(path)));
};
