import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { watchDirectory } from './directory-watch';
import { isTaken } from './executor-state';
import type { ProviderDeps } from './provider-deps';
import type { RunPaths } from './run-directory';

const LOOK_MS = 50;
/** It only waits: no optimising compiler, no helper threads, a small heap. */
const FLAGS = ['--no-opt', '--max-lazy', '--single-threaded', '--max-semi-space-size=1'];

/** A runner that starts up while its attempt is prepared, and takes nothing before it is told to. */
export interface WaitingRunner {
  /** Lets it begin and waits until the attempt is taken, by it or by another; false when it gave up. */
  begin(): Promise<boolean>;
  /** Sends it away: it has done nothing. */
  dismiss(): void;
}

/**
 * Starts a runner. It waits for a word on its standard input, so that it ends by itself when this process dies before
 * the attempt is prepared.
 */
export async function launchRunner(
  { runnerEntry }: ProviderDeps,
  paths: RunPaths,
  env: NodeJS.ProcessEnv,
): Promise<WaitingRunner> {
  const log = openSync(paths.runnerLog, 'a', 0o600);
  const args = [...FLAGS, runnerEntry, paths.directory, '--wait'];
  const runner = spawn(process.execPath, args, {
    cwd: paths.directory,
    detached: true,
    stdio: ['pipe', log, log],
    env,
  });
  closeSync(log);
  runner.unref();
  // It may have ended by itself; then the exit says so.
  runner.stdin?.on('error', () => undefined);
  await once(runner, 'spawn');
  return {
    dismiss: () => runner.stdin?.destroy(),
    async begin() {
      const watch = watchDirectory(paths.directory, () => true);
      const hasEnded = (): boolean => runner.exitCode !== null || runner.signalCode !== null;
      runner.once('exit', watch.wake);
      runner.stdin?.end('\n');
      try {
        while (!isTaken(paths) && !hasEnded()) await watch.next(LOOK_MS);
        return isTaken(paths);
      } finally {
        watch.close();
      }
    },
  };
}
