import { criterionId } from '../../contract/checkpoint';
import type { Delivery } from '../../contract/delivery';
import type { Attempt, Carried } from '../../contract/run';
import { amendAttempt, currentAttempt } from './attempt';
import { isProgress } from './delivery';
import { readCheckpoint, readVerdict } from './read-checkpoint';

/** Takes what an ended attempt reports of its work; a pending stop keeps it from being taken (US-7). */
export function takeReport(carried: Carried, ended: Omit<Ended, 'attempt'>): Carried {
  const { delivery, stop } = carried;
  const attempt = currentAttempt(carried);
  if (delivery === null || attempt?.outcome !== 'completed' || attempt.code !== null || stop !== null) return carried;
  const take = attempt.purpose === 'review' ? takeVerdict : takeCheckpoint;
  return take(carried, delivery, { attempt, ...ended });
}

interface Ended {
  readonly attempt: Attempt;
  readonly at: string;
  /** What the workspace held at the end, as the host names it. */
  readonly workspace: string | null;
  /** The same before a review began; null when its host did not look. */
  readonly workspaceBefore: string | null;
}

const messageOf = ({ observation }: Attempt): string | null => observation?.text ?? null;

/** Longer than a report may be: the record holds only its beginning. */
const isCut = ({ observation }: Attempt): boolean => observation?.ref !== undefined;

function takeCheckpoint(carried: Carried, delivery: Delivery, { attempt, at, workspace }: Ended): Carried {
  const { task } = carried;
  const read = isCut(attempt)
    ? { diagnostic: 'checkpoint_too_large' }
    : readCheckpoint(messageOf(attempt), {
        taskId: task.id,
        session: attempt.threadId,
        criteria: task.acceptance.map((_, index) => criterionId(index)),
        isCleanedFirst: carried.version > 3,
      });
  if ('diagnostic' in read) {
    const { diagnostic } = read;
    const missed = {
      ...delivery,
      workspace,
      diagnostic,
      misses: delivery.misses + 1,
      fruitless: delivery.fruitless + 1,
    };
    const rejected = { checkpoint: diagnostic, code: 'checkpoint_rejected' as const, error: diagnostic };
    return amendAttempt({ ...carried, delivery: missed }, rejected);
  }
  const { report } = read;
  const isFruitful = isProgress(delivery, report, workspace);
  const accepted: Delivery = {
    ...delivery,
    workspace,
    checkpoint: { attemptId: attempt.attemptId, at, report },
    diagnostic: null,
    findings: [],
    misses: 0,
    fruitless: isFruitful ? 0 : delivery.fruitless + 1,
  };
  return amendAttempt({ ...carried, delivery: accepted }, { checkpoint: report.status });
}

function takeVerdict(carried: Carried, delivery: Delivery, { attempt, workspace, workspaceBefore }: Ended): Carried {
  // The review counts only for what the reviewer saw (CK-19); what the criteria wrote before it began is part of that.
  const before = workspaceBefore ?? delivery.workspace;
  const isSame = workspace === null || before === null || workspace === before;
  if (!isSame) return amendAttempt(carried, { checkpoint: 'workspace_changed' });
  const read = readVerdict(isCut(attempt) ? null : messageOf(attempt), carried.task.id);
  if ('diagnostic' in read) {
    const { diagnostic } = read;
    return amendAttempt(carried, { checkpoint: diagnostic, code: 'checkpoint_rejected', error: diagnostic });
  }
  const { verdict, findings } = read.report;
  return amendAttempt({ ...carried, delivery: { ...delivery, findings } }, { checkpoint: verdict });
}
