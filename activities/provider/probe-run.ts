import { existsSync } from 'node:fs';
import type { Liveness, ProbeReport } from '../../contract/activities';
import { executorState } from './executor-state';
import type { ProviderDeps } from './provider-deps';
import { codexHomeOf } from './provider-environment';
import { readExit, runPaths } from './run-directory';
import { threadHolder } from './thread-lock';

export interface ProbeOrder {
  readonly attemptId: string;
  readonly threadId: string | null;
  readonly codexHome: string | null;
}

const LIVENESS = { alive: 'alive', orphaned: 'alive', gone: 'dead', unknown: 'unknown' } as const;

/** Says whether anything of an attempt lives on this host, and what was looked at; changes nothing. */
export function probeRun(deps: ProviderDeps, { attemptId, threadId, codexHome }: ProbeOrder): ProbeReport {
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
    const holder = threadHolder(codexHomeOf(deps.env, codexHome), threadId);
    evidence.push(holder === null ? 'no process has the thread open' : `process ${String(holder)} has the thread open`);
    if (holder !== null) liveness = 'alive';
  }
  return { liveness, evidence, isKnown: existsSync(paths.directory) };
}
