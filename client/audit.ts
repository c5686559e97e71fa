import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
      attempts: await Promise.all(attempts.map((attempt) => audited(session, attempt))),
      receipts: attempts.flatMap(({ receipts }) => receipts),
      ...(stale && { stale }),
    };
  }, taskId);
}

async function audited(session: Session, attempt: Attempt): Promise<AuditedAttempt> {
  const { observation: _text, receipts: _flattened, warnings: _warnings, threadUsage: _total, ...rest } = attempt;
  const { home } = session;
  const isOpenHere = rest.endedAt === null && rest.hostId === home.hostId;
  return isOpenHere ? { ...rest, spawns: await spawnsSoFar(home.path, rest.attemptId) } : rest;
}

/** Spawns of an attempt that has not ended, from the runner's own ledger: the record learns them at its end. */
async function spawnsSoFar(home: string, attemptId: string): Promise<number> {
  const ledger = await readFile(join(home, 'runs', attemptId, 'spawns.jsonl'), 'utf8').catch(() => '');
  return ledger.split('\n').filter((line) => line !== '').length;
}
