import type { RunReport } from '../../contract/activities';

/** Takes nothing from a run that answered for another thread than the one it was to resume (CX-16). */
export function checkIdentity(report: RunReport, threadId: string | null): RunReport {
  if (threadId === null || report.threadId === null || report.threadId === threadId) return report;
  return {
    ...report,
    outcome: 'failed',
    code: 'thread_mismatch',
    error: `asked for thread ${threadId}, the provider answered for ${report.threadId}`,
    threadId,
    observation: null,
    threadUsage: null,
  };
}
