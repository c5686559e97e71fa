import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { processesOn } from '../../scripts/stage/processes';
import { round, summary, type Summary } from './figures';
import { stampOf } from './stub';
import type { Dispatched, Tasks } from './tasks';

const ATTEMPTS = 8;

/** Memory of our own processes for each running attempt, MB; the provider's is not in it. */
export interface Memory {
  readonly runnerRss: Summary;
  /** Shared pages divided among the processes that share them. */
  readonly runnerPss: Summary;
  readonly runnerPrivate: Summary;
  /** What the worker grew by for each attempt that it follows. */
  readonly workerGrowth: number;
  /** Processes of each attempt, the provider among them. */
  readonly processes: number;
}

/** Memory of a process, MB. */
interface Pages {
  readonly rss: number;
  readonly pss: number;
  readonly own: number;
}

const runnerSchema = z.object({ runner: z.object({ pid: z.int() }) });

/** Holds some runs at once and looks at their runners; undefined where there is no /proc. */
export async function measureMemory(tasks: Tasks, workerPid: number, signal: AbortSignal): Promise<Memory | undefined> {
  if (process.platform !== 'linux') return undefined;
  const before = await pagesOf(workerPid);
  const held: Dispatched[] = [];
  for (let i = 0; i < ATTEMPTS; i += 1) held.push(await tasks.hold());
  for (const run of held) await stampOf(tasks.directoryOf(run), signal);
  const runners = await Promise.all(held.map((run) => runnerPages(tasks.directoryOf(run))));
  const after = await pagesOf(workerPid);
  const processes = held.map(({ attemptId }) => processesOn(attemptId).length);
  await Promise.all(held.map((run) => tasks.stop(run)));
  return {
    runnerRss: summary(runners.map(({ rss }) => rss)),
    runnerPss: summary(runners.map(({ pss }) => pss)),
    runnerPrivate: summary(runners.map(({ own }) => own)),
    workerGrowth: round((after.own - before.own) / ATTEMPTS),
    processes: round(processes.reduce((a, b) => a + b, 0) / ATTEMPTS),
  };
}

async function runnerPages(directory: string): Promise<Pages> {
  const file = join(directory, 'runner.json');
  // The runner writes it when the provider runs, so the stamp may be there first.
  let text = '';
  while (text === '') text = await readFile(file, 'utf8').catch(() => sleep(20, ''));
  return pagesOf(runnerSchema.parse(JSON.parse(text)).runner.pid);
}

/** Reads the memory of a process; Linux only. */
export async function pagesOf(pid: number): Promise<Pages> {
  const rollup = await readFile(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? 0) / 1_024;
  return { rss: megabytes('Rss'), pss: megabytes('Pss'), own: megabytes('Private_Dirty') + megabytes('Private_Clean') };
}
