import { existsSync } from 'node:fs';
import { discard, replaceFile } from './durable-file';
import { executorState } from './executor-state';
import type { ProviderDeps } from './provider-deps';
import { readExit, runPaths } from './run-directory';

/**
 * Removes the output of attempts that are over (DW-17). What says that the attempt was taken, by whom and how it ended
 * stays: it is a few kilobytes, and keeps the attempt from ever being started again. Answers how many lost something.
 */
export function removeRuns(
  { home }: Pick<ProviderDeps, 'home'>,
  { attemptIds }: { attemptIds: string[] },
): { removed: number } {
  let removed = 0;
  for (const attemptId of attemptIds) {
    const paths = runPaths(home, attemptId);
    if (!existsSync(paths.directory) || existsSync(paths.removed)) continue;
    const isOver = readExit(paths).kind === 'found' || executorState(paths, attemptId).kind === 'gone';
    if (!isOver) continue;
    const { stdout, stderr, prompt, runnerLog, reportSchema, lastMessage, lostDiff } = paths;
    replaceFile(paths.removed, new Date().toISOString(), { isDurable: true });
    for (const path of [stdout, stderr, prompt, runnerLog, reportSchema, lastMessage, lostDiff]) discard(path);
    removed += 1;
  }
  return { removed };
}
