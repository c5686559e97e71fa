import { carriedSchema, type Carried } from '../../../contract/run';
import { reopenTask } from '../../../workflows/task-record/reopening';
import { amendAttempt } from '../../../workflows/task-record/attempt';
import { concludeByCriteria, failOrphaned, settle } from '../../../workflows/task-record/settling';
import { stopLost, stopSettled } from '../../../workflows/task-record/stopping';
import { isSettling } from '../../../workflows/task-record/view';
import { goodReport } from '../../helpers/fake-host';
import type { Done } from './perform';
import { ACTOR, at, threadOf, type Happening } from './story';

/** Lets something happen to a record, when it can. */
export function happen(carried: Carried, happening: Happening, serial: number): Done {
  const next = HAPPENINGS[happening.kind] as (carried: Carried, h: Happening, serial: number) => Carried | null;
  const after = next(carried, happening, serial);
  return after === null ? { carried, verdict: 'nothing' } : { carried: after, verdict: 'done' };
}

type Of<K> = Extract<Happening, { kind: K }>;
type Happens = { [K in Happening['kind']]: (carried: Carried, happening: Of<K>, serial: number) => Carried | null };

const HAPPENINGS: Happens = {
  settle(carried, { outcome, withThread }, serial) {
    const attempt = carried.attempts.at(-1);
    if (carried.intent?.kind !== 'run' || attempt === undefined) return null;
    const threadId = withThread ? (attempt.threadId ?? threadOf(serial)) : null;
    const failed = outcome === 'failed' && { code: 'RUN_FAILED' as const, error: 'it broke' };
    const report = goodReport(attempt, { outcome, threadId, observation: { text: 'observed', bytes: 8 }, ...failed });
    const settled = settle(carried, report, at(serial));
    const isToJudge = outcome === 'completed' && attempt.completion === 'criteria';
    return isToJudge ? settled : amendAttempt(settled, { settledAt: at(serial) });
  },
  /** The criteria, or the host of a stop that waits, have their say. */
  judge(carried, { met }, serial) {
    const attempt = carried.attempts.at(-1);
    if (attempt === undefined) return null;
    const isOwed = carried.stop !== null && carried.intent === null;
    if (!isSettling(attempt)) return isOwed ? stopLost(carried, at(serial)) : null;
    if (isOwed) return stopSettled(amendAttempt(carried, { settledAt: at(serial) }), at(serial));
    const criteria = [{ command: 'true', met, exitCode: met ? 0 : 1, output: '' }];
    const isOpen = carried.task.status === 'in_progress';
    const judged = isOpen ? concludeByCriteria(carried, criteria, at(serial)) : carried;
    return amendAttempt(judged, { settledAt: at(serial) });
  },
  advance: (carried, _, serial) =>
    carried.intent?.kind !== 'reopen' || isSettling(carried.attempts.at(-1))
      ? null
      : reopenTask(carried, { at: at(serial) }),
  orphan: (carried, _, serial) =>
    carried.task.status !== 'in_progress' || carried.intent !== null || isSettling(carried.attempts.at(-1))
      ? null
      : failOrphaned(carried, ['proof'], { at: at(serial), actor: ACTOR }),
  crash: (carried) => carriedSchema.parse(JSON.parse(JSON.stringify(carried))),
};
