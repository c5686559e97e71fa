// Import-light on purpose: the runner loads this.
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTEMPT_MARK } from '../../contract/marks';
import { markedProcesses } from './marked-processes';
import { isSameProcess, type ProcessIdentity } from './process-identity';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const;
export type StopSignal = (typeof SIGNALS)[number];

/** Milliseconds to wait after SIGINT and after SIGTERM before the next signal goes out. */
export type Escalation = readonly [afterInterrupt: number, afterTerminate: number];

const LOOK_MS = 50;
const SWEEPS = 100;

/** Sends a signal to exactly this process, or nothing when it is no longer that process. */
export function signalProcess(identity: ProcessIdentity, signal: StopSignal): boolean {
  if (isSameProcess(identity) !== 'alive') return false;
  try {
    return process.kill(identity.pid, signal);
  } catch {
    return false;
  }
}

/** Asks ever more firmly until `hasEnded`; tells whether more than the first signal was needed. */
export async function escalate(
  send: (signal: StopSignal) => void,
  hasEnded: () => boolean,
  waits: Escalation,
): Promise<boolean> {
  for (const [step, signal] of SIGNALS.entries()) {
    send(signal);
    const until = Date.now() + (waits[step] ?? 0);
    while (!hasEnded() && Date.now() < until) await sleep(LOOK_MS);
    if (hasEnded()) return step > 0;
  }
  return true;
}

/** Kills every process that carries the attempt's mark, and the noted ones; gives how many there were. */
export const endMarked = (attemptId: string, noted: Iterable<ProcessIdentity> = []): Promise<number> =>
  endProcesses(() => markedProcesses(ATTEMPT_MARK, attemptId), noted);

/** Kills every process that a look finds, as often as it finds more, and the noted ones; gives how many there were. */
export async function endProcesses(
  look: () => ProcessIdentity[],
  noted: Iterable<ProcessIdentity> = [],
): Promise<number> {
  const strays = new Set<string>();
  let suspects = [...noted, ...look()];
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const live = suspects.filter((suspect) => isSameProcess(suspect) === 'alive');
    if (live.length === 0) break;
    for (const stray of live) {
      signalProcess(stray, 'SIGKILL');
      strays.add(`${String(stray.pid)} ${stray.startTime}`);
    }
    await sleep(sweep === 0 ? 2 : LOOK_MS / 2);
    suspects = [...live, ...look()];
  }
  return strays.size;
}
