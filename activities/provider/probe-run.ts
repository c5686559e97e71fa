import { existsSync } from 'node:fs';
import type { Liveness, ProbeReport } from '../../contract/activities';
import { appServerOf } from './app-server';
import { hasActiveTurn } from './app-server-turn';
import { executorState } from './executor-state';
import type { ProviderDeps } from './provider-deps';
import { codexHomeOf } from './provider-environment';
import { readExit, runPaths } from './run-directory';
import { threadHolder } from './thread-lock';
import { errorMessage } from './thrown';

export interface ProbeOrder {
  readonly attemptId: string;
  readonly threadId: string | null;
  readonly codexHome: string | null;
}

const LIVENESS = { alive: 'alive', orphaned: 'alive', gone: 'dead', unknown: 'unknown' } as const;

/** What having the thread open says of its last run: nothing where an app server has it, and runs no turn in it. */
async function holdingOf(home: string, threadId: string): Promise<{ liveness?: Liveness; evidence: string }> {
  const holder = threadHolder(home, threadId);
  if (holder === null) return { evidence: 'no process has the thread open' };
  const server = appServerOf(home, threadId);
  if (server === null) return { liveness: 'alive', evidence: `process ${String(holder)} has the thread open` };
  const evidence = `app server ${String(holder)} has the thread open`;
  try {
    if (await hasActiveTurn(server.socket, threadId))
      return { liveness: 'alive', evidence: `${evidence}, and runs a turn` };
    return { evidence: `${evidence}, and runs no turn` };
  } catch (error) {
    return { liveness: 'unknown', evidence: `${evidence}, and does not say what it does: ${errorMessage(error)}` };
  }
}

/** Says whether anything of an attempt lives on this host, and what was looked at; changes nothing. */
export async function probeRun(
  deps: ProviderDeps,
  { attemptId, threadId, codexHome }: ProbeOrder,
): Promise<ProbeReport> {
  const paths = runPaths(deps.home, attemptId);
  const exit = readExit(paths);
  if (exit.kind === 'found') {
    return { liveness: 'dead', evidence: [`the runner recorded the exit at ${exit.value.endedAt}`] };
  }
  const evidence = existsSync(paths.directory) ? [] : ['no run directory on this host'];
  if (exit.kind === 'unreadable') evidence.push(`the exit record cannot be read: ${exit.why}`);
  const state = executorState(paths, attemptId);
  evidence.push(...state.evidence);
  let liveness: Liveness = LIVENESS[state.kind];
  if (threadId !== null && liveness !== 'alive') {
    const held = await holdingOf(codexHomeOf(deps.env, codexHome), threadId);
    evidence.push(held.evidence);
    liveness = held.liveness ?? liveness;
  }
  return { liveness, evidence, isKnown: existsSync(paths.directory) };
}
