import type { Outcome } from '../contract/failures';
import type { Receipt } from '../contract/receipt';
import type { Attempt } from '../contract/run';
import { outcomeOf } from './outcome';
import { readRecord } from './record';
import type { Session } from './session';

/** One attempt as an auditor needs it: what was started, how often, and how it ended. */
export type AuditedAttempt = Omit<Attempt, 'observation' | 'receipts' | 'warnings' | 'threadUsage'>;

export interface Audit {
  readonly taskId: string;
  readonly attempts: AuditedAttempt[];
  readonly receipts: Receipt[];
  readonly stale?: true;
}

/** Shows every attempt of a task with its spawns and its receipts. */
export async function auditTask(session: Session, taskId: string): Promise<Outcome<Audit>> {
  return outcomeOf(async () => {
    const { attempts, stale } = await readRecord(session, taskId);
    return {
      taskId,
      attempts: attempts.map(audited),
      receipts: attempts.flatMap(({ receipts }) => receipts),
      ...(stale && { stale }),
    };
  }, taskId);
}

function audited(attempt: Attempt): AuditedAttempt {
  const { observation: _text, receipts: _flattened, warnings: _warnings, threadUsage: _total, ...rest } = attempt;
  return rest;
}
