import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { RUNNER_MARK } from '../../contract/marks';
import type { RunPaths, RunRequest } from '../../activities/provider/run-directory';
import { AGENT, type ProviderHost } from './provider-host';
import { runnerEntry } from './runner-entry';

/** Writes a run directory as the activity does, without starting anything. */
export function prepareRun(host: ProviderHost, steps: unknown[], exact: Partial<RunRequest> = {}): RunPaths {
  const { attemptId } = host.order([], { attemptId: exact.attemptId ?? randomUUID() });
  const paths = host.paths({ attemptId });
  mkdirSync(paths.directory, { recursive: true });
  const request: RunRequest = {
    attemptId,
    command: AGENT,
    argv: ['exec', '-'],
    cwd: host.workspace,
    codexHome: host.workspace,
    cliVersion: null,
    timeMs: 60_000,
    outputBytes: 1024 ** 3,
    escalation: [300, 300],
    ...exact,
  };
  writeFileSync(paths.prompt, JSON.stringify(steps));
  writeFileSync(paths.request, JSON.stringify(request));
  return paths;
}

/** Starts the compiled runner on a run directory. */
export function startRunner(
  host: ProviderHost,
  paths: RunPaths,
): { child: ChildProcess; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [runnerEntry(), paths.directory], {
    detached: true,
    stdio: 'ignore',
    env: { ...host.deps.env, [RUNNER_MARK]: 'test' },
  });
  return { child, ended: new Promise((resolve) => child.once('exit', resolve)) };
}
