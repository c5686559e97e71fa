import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import type { RunOrder, RunReport } from '../../contract/activities';
import { failureCode } from '../../contract/failures';
import { cliVersion } from './cli-version';
import { codexArguments } from './codex-command';
import { findCodex } from './codex-binary';
import { watchDirectory } from './directory-watch';
import { replaceFile } from './durable-file';
import { errorCode, errorMessage } from './thrown';
import { isTaken } from './executor-state';
import { ESCALATION, type ProviderDeps } from './provider-deps';
import { codexHomeOf, providerEnvironment } from './provider-environment';
import { refusedReport } from './run-report';
import { pendingStop, type RunPaths, type RunRequest } from './run-directory';

const LOOK_MS = 50;
const TRIES = 3;
/** It only waits: no optimising compiler, no helper threads, a small heap. */
const RUNNER_FLAGS = ['--no-opt', '--max-lazy', '--single-threaded', '--max-semi-space-size=1'];

/** Starts one runner and waits until the attempt is taken, by it or by another, or until it gave up. */
async function launchRunner(deps: ProviderDeps, paths: RunPaths, env: NodeJS.ProcessEnv): Promise<boolean> {
  const watch = watchDirectory(paths.directory, () => true);
  const log = openSync(paths.runnerLog, 'a', 0o600);
  try {
    const args = [...RUNNER_FLAGS, deps.runnerEntry, paths.directory];
    const runner = spawn(process.execPath, args, {
      cwd: paths.directory,
      detached: true,
      stdio: ['ignore', log, log],
      env,
    });
    runner.unref();
    const hasEnded = (): boolean => runner.exitCode !== null || runner.signalCode !== null;
    runner.once('exit', watch.wake);
    await once(runner, 'spawn');
    while (!isTaken(paths) && !hasEnded()) await watch.next(LOOK_MS);
    return isTaken(paths);
  } finally {
    closeSync(log);
    watch.close();
  }
}

async function prepare(deps: ProviderDeps, order: RunOrder, paths: RunPaths): Promise<NodeJS.ProcessEnv> {
  const { attemptId, limits } = order;
  const command = findCodex(deps.env);
  const codexHome = codexHomeOf(deps.env, order.codexHome);
  const cwd = await deps.workspaces.ensure(order.task, order.repository);
  const request: RunRequest = {
    attemptId,
    command,
    argv: codexArguments(order, cwd),
    cwd,
    codexHome,
    cliVersion: cliVersion(command),
    timeMs: limits.timeMs,
    outputBytes: limits.outputBytes,
    escalation: deps.escalation ?? ESCALATION,
  };
  // Not flushed: until the claim is durable nothing depends on them.
  replaceFile(paths.prompt, order.message, { isDurable: false });
  replaceFile(paths.request, JSON.stringify(request), { isDurable: false });
  return providerEnvironment(deps.env, codexHome, attemptId);
}

/** Has the attempt taken by a runner; gives a report instead when it is refused before any process exists. */
export async function startRun(deps: ProviderDeps, order: RunOrder, paths: RunPaths): Promise<RunReport | null> {
  if (pendingStop(paths) !== null) {
    return refusedReport(order, { outcome: 'stopped', code: 'user_stopped', error: 'it was stopped before it began' });
  }
  let env: NodeJS.ProcessEnv;
  try {
    env = await prepare(deps, order, paths);
  } catch (error) {
    const code = failureCode.safeParse(errorCode(error));
    if (!code.success) throw error;
    return refusedReport(order, { outcome: 'failed', code: code.data, error: errorMessage(error) });
  }
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    if (await launchRunner(deps, paths, env)) return null;
  }
  throw new Error(`the runner ended before it took the attempt: ${readFileSync(paths.runnerLog, 'utf8').slice(-500)}`);
}
