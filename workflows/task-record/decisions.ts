import type { z } from 'zod';
import { ASKING } from '../../contract/attention';
import { failure, type Failure } from '../../contract/failures';
import { type DecideAnswer, type decideSchema } from '../../contract/decision';
import { RUN_ACTOR, type Carried } from '../../contract/run';
import { boundedSummary } from './commands';
import { closeIncident } from './incidents';
import { budgetReason, raise, spentOf } from './delivery';
import { append, isTerminal, transit, type Step, type Transition } from './transitions';

type Decision = z.output<typeof decideSchema>;
/** The decisions that end something, where `retry` and `continue` begin an attempt. */
type Ending = Exclude<Decision['decision'], 'retry' | 'continue'>;

/** The incident that a decision has to answer: how the last attempt ended, when nobody has decided what follows. */
export const openIncident = (carried: Carried) => openAbout(carried, ASKING);

/** What became of a stop that its host has not confirmed in time, while the attempt that it is for has not ended. */
export const stopIncident = (carried: Carried) => openAbout(carried, ['stop_unconfirmed']);

const openAbout = ({ incidents, attempts }: Carried, codes: readonly string[]) =>
  incidents.findLast(
    ({ code, subject, decidedAt }) =>
      codes.includes(code) && subject === attempts.at(-1)?.attemptId && decidedAt === null,
  );

/** Whether a delivery rests until a person lets it go on: a budget is used up, or it asked something. */
export const isHeld = ({ task, delivery, intent }: Carried): boolean =>
  delivery !== null && intent === null && task.status === 'interrupted';

/** Whether a delivery may be let go on: one that rests or failed, and one that ended when it is given more. */
function mayGoOn(carried: Carried, { raise: given = {} }: Decision): boolean {
  if (isHeld(carried)) return true;
  const { delivery, intent, task } = carried;
  if (delivery === null || intent !== null) return false;
  return task.status === 'failed' || (isTerminal(task.status) && Object.keys(given).length > 0);
}

/** The review that a task waits for, by the id of the activity that asked for it. */
export const openReview = ({ task }: Carried): string | undefined =>
  task.status === 'review' ? task.activities.findLast(({ detail }) => detail.to === 'review')?.id : undefined;

/** Answers a review or an open incident (RV7, RC-14, RC-15). */
export function decide(carried: Carried, decision: Decision, at: string): Step<DecideAnswer> {
  const { task } = carried;
  const { actor, decision: word } = decision;
  if (beginsAttempt(word)) return refuseGoOn(carried, decision) ?? goesOnAtRest(task.id);
  const byRun = refuseRun(task, decision);
  if (byRun !== null) return byRun;
  const isReview = word === 'approve' || word === 'send_back';
  if (isReview && isDecided(carried, decision)) return { carried, answer: answerOf(task) };
  const refusal = isReview ? refuseReview(carried, decision) : refuseIncident(carried, decision);
  if (refusal !== null) return refusal;
  const incidents = closeIncident(carried.incidents, openIncident(carried), { at, actor, decision: word });
  const decided = isReview ? carried : { ...carried, incidents, stop: null };
  const next = transit(decided, transitionOf(carried, { ...decision, decision: word }), { at, actor });
  return { carried: next, answer: answerOf(next.task) };
}

/** Whether a decision lets the task go on, where the others end something. */
export const beginsAttempt = (decision: Decision['decision']): decision is 'retry' | 'continue' =>
  decision === 'retry' || decision === 'continue';

/** A person decides, outside of any run (RV7). */
const refuseRun = ({ id: taskId }: Carried['task'], { actor }: Decision): Failure | null =>
  actor.startsWith(RUN_ACTOR) ? failure('HUMAN_REQUIRED', `${actor} is a run and cannot decide`, { taskId }) : null;

/** Refuses what would begin another attempt: `retry` answers an incident, `continue` a delivery that rests. */
export function refuseGoOn(carried: Carried, decision: Decision): Failure | null {
  const { task, delivery } = carried;
  const byRun = refuseRun(task, decision);
  if (byRun !== null) return byRun;
  const raised = delivery === null ? null : raise(delivery, decision.raise ?? {});
  const reason = raised === null ? null : budgetReason(raised, false);
  if (raised !== null && reason !== null) {
    return failure('budget_exhausted', `the delivery has used up ${spentOf(reason, raised)}`, { taskId: task.id });
  }
  if (decision.decision === 'retry') return refuseIncident(carried, decision);
  if (mayGoOn(carried, decision)) return null;
  return failure('NOTHING_TO_DECIDE', `task ${task.id} has no delivery that rests`, {
    taskId: task.id,
    ...otherHint(carried),
  });
}

/** A phase that executes the task has nothing that could go on. */
const goesOnAtRest = (taskId: string): Failure =>
  failure('NOTHING_TO_DECIDE', `task ${taskId} is being run`, { taskId });

/** What a decision to go on makes of the record: the budget is raised, and what the person said waits for the run. */
export function letGoOn(carried: Carried, { raise: given = {}, note, actor }: Decision, at: string): Carried {
  const { delivery } = carried;
  const raised = delivery === null ? null : { ...raise(delivery, given), pausedBy: null };
  const parts = Object.entries(given).map(([name, value]) => `${String(value)} more ${name}`);
  const about = { at, actor, summary: boundedSummary(['goes on', ...parts].join(', ')) };
  const decided = append(
    { ...carried, delivery: raised },
    { ...about, detail: { type: 'decision', decision: 'continue' } },
  );
  return note === undefined
    ? decided
    : append(decided, { at, actor, summary: boundedSummary(note), detail: { type: 'note' } });
}

const answerOf = ({ id: taskId, status }: Carried['task']): DecideAnswer => ({ success: true, taskId, status });

/** Whether the last review was decided in just this way already: a second approval changes nothing. */
function isDecided({ task }: Carried, { decision, reviewId }: Decision): boolean {
  const last = task.activities.findLast(({ detail }) => detail.to !== undefined)?.detail;
  const isSame = last?.type === 'decision' && last.decision === decision;
  return isSame && (reviewId === undefined || reviewId === last.reviewId);
}

/** What a task does wait for, when it was asked for the other thing. */
function otherHint(carried: Carried): { hint?: string } {
  if (openReview(carried) !== undefined) return { hint: 'It waits for a review: approve or send_back.' };
  if (openIncident(carried) !== undefined)
    return { hint: 'It waits for a decision about an incident: retry, accept, abandon or stop.' };
  return {};
}

function refuseReview(carried: Carried, { reviewId }: Decision): Failure | null {
  const { id: taskId, status } = carried.task;
  const open = openReview(carried);
  if (open === undefined)
    return failure('NOTHING_TO_DECIDE', `task ${taskId} is ${status}, not in review`, {
      taskId,
      ...otherHint(carried),
    });
  if (reviewId === undefined || reviewId === open) return null;
  return failure('TASK_STATUS_CONFLICT', `review ${reviewId} is not the open one`, {
    hint: `The open review is ${open}; look at the result again before you decide.`,
    taskId,
  });
}

function refuseIncident(carried: Carried, { incidentId }: Decision): Failure | null {
  const { id: taskId, status } = carried.task;
  const open = openIncident(carried);
  if (open === undefined || status !== 'in_progress') {
    return failure('NOTHING_TO_DECIDE', `task ${taskId} has no open incident`, { taskId, ...otherHint(carried) });
  }
  if (incidentId === undefined || incidentId === open.id) return null;
  return failure('TASK_STATUS_CONFLICT', `incident ${incidentId} is not the open one`, {
    hint: `The open incident is ${open.id}.`,
    taskId,
  });
}

function transitionOf(carried: Carried, { decision, note, incidentId }: Decision & { decision: Ending }): Transition {
  const reviewId = openReview(carried);
  const incidentCode = openIncident(carried)?.code ?? 'interrupted_owner';
  const summary = boundedSummary(note ?? decision.replace('_', ' '));
  const proposed = carried.task.result;
  // A completed task has a result, whatever was made of it in review (TS12).
  const result = proposed === null || proposed.trim() === '' ? summary : proposed;
  const detail = {
    type: 'decision',
    decision,
    ...(incidentId !== undefined && { incidentId }),
    ...(reviewId !== undefined && { reviewId }),
  };
  switch (decision) {
    case 'approve':
      return { to: 'completed', summary, detail, fields: { result } };
    case 'send_back':
      return { to: 'interrupted', summary, detail: { ...detail, reason: 'review_rejected' }, fields: { result: null } };
    case 'accept':
      return { to: 'completed', summary, detail, fields: { result } };
    case 'abandon':
      return { to: 'failed', summary, detail, fields: { failureReason: `${incidentCode}: abandoned (${summary})` } };
    case 'stop':
      return { to: 'interrupted', summary, detail: { ...detail, reason: 'user_stop' } };
  }
}
