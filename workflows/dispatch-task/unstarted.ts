import type { RunReport } from '../../contract/activities';
import { FAILURES, type FailureCode } from '../../contract/failures';
import type { RunOutcome } from '../../contract/run';

/** The report of an attempt that no host was ever asked to run. */
export function unstartedReport(outcome: RunOutcome, code: FailureCode, at: string): RunReport {
  return {
    outcome,
    code,
    error: FAILURES[code].hint,
    threadId: null,
    codexHome: null,
    workspacePath: null,
    cliVersion: null,
    observation: null,
    threadUsage: null,
    exit: null,
    startedAt: null,
    endedAt: at,
    spawns: 0,
    strays: 0,
    warnings: [],
  };
}
