import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTEMPT_MARK } from '../../contract/marks';
import { markedProcesses } from '../provider/marked-processes';
import { endMarked, signalProcess } from '../provider/process-ending';

/** How long a left-over gets to clean up after itself, and how often it is looked for, in milliseconds. */
const TIDY_MS = 2_000;
const LOOK_MS = 25;

/** The mark of work that one place and one purpose name for ever; without blanks, whatever they are. */
export function workMark(kind: 'check' | 'workspace', ...parts: string[]): string {
  return `${kind}:${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

/** Ends every process that carries exactly this mark: asked first, because git takes its lock files along then. */
export async function endTidily(mark: string): Promise<void> {
  const marked = markedProcesses(ATTEMPT_MARK, mark);
  for (const one of marked) signalProcess(one, 'SIGTERM');
  const until = Date.now() + TIDY_MS;
  while (Date.now() < until && markedProcesses(ATTEMPT_MARK, mark).length > 0) await sleep(LOOK_MS);
  await endMarked(mark);
}
