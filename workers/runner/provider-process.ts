import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { giveBack } from '../../activities/provider/held-back';
import { errorCode, errorMessage } from '../../activities/provider/thrown';
import type { RunPaths, RunRequest, SpawnError } from '../../activities/provider/run-directory';
import { ATTEMPT_MARK, RUNNER_MARK } from '../../contract/marks';

export interface ProviderProcess {
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  hasEnded(): boolean;
}

function providerEnvironment(attemptId: string): NodeJS.ProcessEnv {
  const environment = { ...giveBack(process.env), [ATTEMPT_MARK]: attemptId };
  Reflect.deleteProperty(environment, RUNNER_MARK);
  return environment;
}

/** Files instead of pipes: a dead reader must neither block nor kill the provider. */
function spawnWithFiles(paths: RunPaths, { command, argv, cwd, attemptId }: RunRequest): ChildProcess {
  const files: number[] = [];
  const open = (path: string, flags: string): number => {
    const descriptor = openSync(path, flags, 0o600);
    files.push(descriptor);
    return descriptor;
  };
  try {
    const stdio = [open(paths.prompt, 'r'), open(paths.stdout, 'a'), open(paths.stderr, 'a')];
    return spawn(command, argv, { cwd, stdio, detached: true, env: providerEnvironment(attemptId) });
  } finally {
    for (const descriptor of files) closeSync(descriptor);
  }
}

function toSpawnError(error: unknown): SpawnError {
  return { code: errorCode(error) || 'EUNKNOWN', message: errorMessage(error), subject: 'command' };
}

/** Starts the provider in a session of its own, or says why it could not be started. */
export async function startProvider(paths: RunPaths, request: RunRequest): Promise<ProviderProcess | SpawnError> {
  let child: ChildProcess;
  try {
    child = spawnWithFiles(paths, request);
  } catch (error) {
    return toSpawnError(error);
  }
  const { pid } = child;
  if (pid === undefined)
    return new Promise((resolve) =>
      child.once('error', (error) => {
        resolve(toSpawnError(error));
      }),
    );
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    }),
  );
  return { pid, ended, hasEnded: () => child.exitCode !== null || child.signalCode !== null };
}
