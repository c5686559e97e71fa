import type { Delivery } from '../../contract/delivery';
import { FAILURES } from '../../contract/failures';
import { NO_RELATIONS } from '../../contract/relation';
import type { Attempt, Carried, RunMode } from '../../contract/run';
import { bounded } from '../../contract/text';
import { currentAttempt } from './attempt';
import { budgetReason, spentOf } from './delivery';
import { dispatchAgain, newAttempt } from './dispatching';
import { addIncident } from './incidents';
import { completeRun, ENGINE, failRun, interruptStopped, keptStop, waitsForLimit } from './settling';
import { append, transit } from './transitions';
import { asEarlier } from './window';

/** Checkpoints in a row that may be refused before a person has to look (CK-11). */
const MAX_MISSES = 3;

/** The attempt that would follow, and the moment of the decision. */
export interface Next {
  readonly attemptId: string;
  readonly at: string;
}

/**
 * Decides what follows an attempt whose result is recorded: another attempt, a pause, a question, or the outcome. Never
 * another attempt after an interrupted owner, and never after a stop (RC-8, US-8).
 */
export function planNext(carried: Carried, next: Next): Carried {
  const attempt = currentAttempt(carried);
  const isOpen = carried.task.status === 'in_progress' && attempt?.outcome !== 'interrupted_owner';
  if (attempt === undefined || !isOpen) return atRest(carried);
  if (carried.stop !== null || attempt.outcome === 'stopped')
    return interruptStopped(atRest(carried), attempt, next.at);
  const { delivery } = carried;
  if (attempt.outcome === 'failed') return afterFailure(carried, attempt, next);
  if (delivery === null) return atRest(carried);
  if (attempt.purpose === 'review') return afterReview(carried, delivery, { attempt, next });
  if (attempt.code === 'checkpoint_rejected') return afterRejection(carried, delivery, next);
  return afterCheckpoint(carried, delivery, { attempt, next });
}

/** What is planned to be done no more: the task rests. */
const atRest = (carried: Carried): Carried => ({ ...carried, intent: null, stop: keptStop(carried) });

/** First pause before a failed attempt is followed by another one; it doubles. */
const BACK_OFF_MS = 5_000;
const MAX_BACK_OFF_MS = 5 * 60_000;
/** Pause after a usage limit that does not say when it ends. */
const UNKNOWN_RESET_MS = 15 * 60_000;

function afterFailure(carried: Carried, attempt: Attempt, next: Next): Carried {
  const { delivery } = carried;
  const { purpose } = attempt;
  if (waitsForLimit(attempt)) {
    // An account that is at its limit again and again uses up what the delivery may.
    return withinBudget(carried, next, { mode: 'retry', notBefore: afterReset(carried, attempt, next), purpose });
  }
  const mayGoOn = attempt.code !== null && FAILURES[attempt.code].retryable && attempt.code !== 'usage_limit';
  if (delivery === null || !mayGoOn) return failRun(atRest(carried), attempt, next.at);
  const fruitless = delivery.fruitless + 1;
  const pause = Math.min(BACK_OFF_MS * 2 ** (fruitless - 1), MAX_BACK_OFF_MS);
  const notBefore = new Date(Date.parse(next.at) + pause).toISOString();
  return unlessExhausted({ ...carried, delivery: { ...delivery, fruitless } }, next, {
    mode: 'retry',
    notBefore,
    purpose,
  });
}

/**
 * When an attempt may follow one that a usage limit ended: at the reset, spread by its id over a twentieth of the wait
 * (10 s to 5 min), so that not all tasks of an account come at once.
 */
function afterReset(carried: Carried, { resetsAt }: Attempt, { attemptId, at }: Next): string {
  const from = Date.parse(at);
  const told = resetsAt ? Math.max(0, Date.parse(resetsAt) - from) : UNKNOWN_RESET_MS;
  const wait = Math.max(told, leastWait(carried));
  const spread = Math.min(Math.max(wait / 20, 10_000), 5 * 60_000);
  const share = Number.parseInt(attemptId.slice(0, 8), 16) / 0x1_0000_0000;
  return new Date(from + wait + Math.floor(spread * share)).toISOString();
}

/** A reset time that turned out to be wrong is not believed again at once: the pause doubles with each try in a row. */
function leastWait({ attempts }: Carried): number {
  const started = attempts.filter(({ spawns }) => spawns > 0);
  const tries = started.length - 1 - started.findLastIndex(({ code }) => code !== 'usage_limit');
  return tries < 2 ? 0 : Math.min(60_000 * 2 ** (tries - 2), UNKNOWN_RESET_MS);
}

function afterRejection(carried: Carried, delivery: Delivery, next: Next): Carried {
  if (delivery.misses < MAX_MISSES) return unlessExhausted(carried, next, { mode: 'resume' });
  const evidence = [`${String(delivery.misses)} reports in a row were not accepted`, delivery.diagnostic ?? ''];
  return addIncident(atRest(carried), { code: 'checkpoint_rejected', at: next.at, evidence });
}

/** An attempt that has ended, and what would follow it. */
interface Ended {
  readonly attempt: Attempt;
  readonly next: Next;
}

function afterCheckpoint(carried: Carried, delivery: Delivery, { attempt, next }: Ended): Carried {
  const report = delivery.checkpoint?.report;
  if (report === undefined) return carried;
  const action = report.proposedAction;
  if (report.status === 'blocked')
    return ask(carried, { reason: 'blocked', question: report.question ?? report.summary }, next);
  if (action?.external === true)
    return ask(carried, { reason: 'action_proposed', question: `May it: ${action.description}` }, next);
  if (report.status === 'continue') return unlessExhausted(carried, next, { mode: 'resume' });
  const unmet = attempt.criteria.filter(({ met }) => !met);
  const unjudged = unmet.filter(({ exitCode }) => exitCode === null);
  // A check that could not run proves nothing (CK-16).
  if (unjudged.length > 0)
    return ask(carried, { reason: 'criteria_unknown', question: 'a criterion could not be checked' }, next);
  if (unmet.length > 0) {
    const findings = unmet.map(({ command, exitCode }) =>
      bounded(`the criterion failed with exit code ${String(exitCode)}: ${command}`, 500),
    );
    return unlessExhausted(refuted(carried, delivery, findings), next, { mode: 'resume' });
  }
  if (delivery.verify) return withinBudget(carried, next, { mode: 'resume', purpose: 'review' });
  if (carried.task.acceptance.length === 0 && carried.version > 3) {
    return ask(
      carried,
      { reason: 'criteria_unknown', question: 'there is no acceptance criterion that proves it' },
      next,
    );
  }
  return finish(carried, report.summary, { attempt, next });
}

const finish = (carried: Carried, result: string, { attempt, next }: Ended): Carried =>
  completeRun(atRest(carried), { attempt, result, criteriaMet: carried.task.acceptance.length }, next.at);

/** A reviewer's word about work that has met its criteria (CK-25). */
function afterReview(carried: Carried, delivery: Delivery, { attempt, next }: Ended): Carried {
  const { checkpoint: verdict } = attempt;
  if (verdict === 'confirmed') {
    return finish(carried, delivery.checkpoint?.report.summary ?? 'confirmed', { attempt, next });
  }
  if (verdict === 'refuted') {
    return unlessExhausted(refuted(carried, delivery, delivery.findings), next, { mode: 'resume' });
  }
  if (verdict === 'workspace_changed') {
    const repeated = { ...carried, delivery: { ...delivery, fruitless: delivery.fruitless + 1 } };
    return unlessExhausted(repeated, next, { mode: 'resume', purpose: 'review' });
  }
  const question = delivery.findings[0] ?? 'the review came to no verdict';
  return ask(carried, { reason: 'review_inconclusive', question }, next);
}

/** What was said to be done and is not: the attempt made no progress, and counts once. */
const refuted = (carried: Carried, delivery: Delivery, findings: string[]): Carried => ({
  ...carried,
  delivery: {
    ...delivery,
    findings,
    fruitless: carried.version > 3 ? Math.max(1, delivery.fruitless) : delivery.fruitless + 1,
  },
});

/** What a person is asked, and the word for why. */
interface Question {
  readonly reason: string;
  readonly question: string;
}

/** Rests with a question: an answer comes as a note, `continue` goes on. */
function ask(carried: Carried, { reason, question }: Question, { at }: Next): Carried {
  const executionResultId = currentAttempt(carried)?.executionResultId ?? undefined;
  const detail = { type: 'interrupted', reason };
  const summary = bounded(question, 1_000);
  return transit(atRest(carried), { to: 'interrupted', summary, detail, executionResultId }, { at, actor: ENGINE });
}

interface Again {
  readonly mode: RunMode;
  readonly notBefore?: string;
  readonly purpose?: Attempt['purpose'];
}

/** Reviews and waits for a limit count against the budgets since version 4. */
const withinBudget = (carried: Carried, next: Next, how: Again): Carried =>
  carried.version > 3 ? unlessExhausted(carried, next, how) : again(carried, next, how);

function unlessExhausted(carried: Carried, next: Next, how: Again): Carried {
  const { delivery } = carried;
  const reason = delivery === null ? null : budgetReason(delivery, true);
  if (delivery === null || reason === null) return again(carried, next, how);
  const paused = ask(carried, { reason, question: `paused: ${spentOf(reason, delivery)} are used up` }, next);
  return { ...paused, delivery: { ...delivery, pausedBy: reason } };
}

/** Appends the attempt that goes on with the last one: as the same dispatch asked for it. */
function again(carried: Carried, { attemptId, at }: Next, { mode, notBefore, purpose = 'work' }: Again): Carried {
  const last = currentAttempt(carried);
  if (last === undefined) return carried;
  const relations = carried.intent?.kind === 'run' ? carried.intent.relations : NO_RELATIONS;
  const dispatch = { ...dispatchAgain(carried, { actor: last.actor }), managedBy: last.managedBy };
  const attempt = newAttempt(carried, mode, { dispatch, attemptId, at, relations });
  const followed: Attempt = { ...attempt, firstAttemptId: last.firstAttemptId ?? last.attemptId };
  const chosen = purpose === 'review' ? asReview(followed) : followed;
  const summary = purpose === 'review' ? 'the work is reviewed' : `goes on (${mode})`;
  const next: Carried = {
    ...carried,
    task: { ...carried.task, context: { ...carried.task.context, run_id: attemptId } },
    attempts: [...carried.attempts.map(asEarlier), chosen],
    intent: { kind: 'run', attemptId, isHandedOver: false, notBefore: notBefore ?? null, relations },
  };
  return append(next, { at, actor: ENGINE, summary, detail: { type: 'continue', mode, attemptId } });
}

/** A review looks with fresh eyes and changes nothing: a thread of its own, read-only. */
const asReview = (attempt: Attempt): Attempt => ({
  ...attempt,
  purpose: 'review',
  threadId: null,
  codexHome: null,
  policy: { ...attempt.policy, sandbox: 'read-only' },
});
