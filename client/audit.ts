import type { Outcome } from '../contract/failures';
import type { Receipt } from '../contract/receipt';
import type { Attempt } from '../contract/run';
import { outcomeOf } from './outcome';
import { describeTask, readRecord } from './record';
import { isOpenHere, spawnsSoFar, workspacePathOf } from './run-files';
import type { Session } from './session';
import { runningThread } from './why';

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
    const isOpen = attempts.some(({ endedAt }) => endedAt === null);
    const thread = isOpen ? runningThread(await describeTask(session, taskId)) : undefined;
    return {
      taskId,
      attempts: await Promise.all(attempts.map((attempt) => audited(session, attempt, thread))),
      receipts: attempts.flatMap(({ receipts }) => receipts),
      ...(stale && { stale }),
    };
  }, taskId);
}

async function audited(session: Session, attempt: Attempt, thread: string | undefined): Promise<AuditedAttempt> {
  const { observation: _text, receipts: _flattened, warnings: _warnings, threadUsage: _total, ...rest } = attempt;
  if (rest.endedAt !== null) return rest;
  return {
    ...rest,
    threadId: rest.threadId ?? thread ?? null,
    workspacePath: await workspacePathOf(session, attempt),
    ...(isOpenHere(session, attempt) && { spawns: await spawnsSoFar(session, rest.attemptId) }),
  };
}
