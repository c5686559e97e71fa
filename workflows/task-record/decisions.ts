import type { z } from 'zod';
import { failure } from '../../contract/failures';
import type { Carried, decideSchema } from '../../contract/run';
import { boundedSummary } from './commands';
import { transit, type Step, type Transition } from './transitions';

type Decision = z.output<typeof decideSchema>;
interface DecideAnswer {
  readonly success: true;
  readonly taskId: string;
  readonly status: string;
}

/** The incident that a decision has to answer: the last attempt's executor died, and nobody has decided what follows. */
export const openIncident = ({ incidents, attempts }: Carried) =>
  incidents.findLast(
    ({ code, subject, decidedAt }) =>
      code === 'interrupted_owner' && subject === attempts.at(-1)?.attemptId && decidedAt === null,
  );

/** Answers a review or an open incident (RV7, RC-14, RC-15). */
export function decide(carried: Carried, decision: Decision, at: string): Step<DecideAnswer> {
  const { task } = carried;
  const about = { taskId: task.id };
  const isReview = decision.decision === 'approve' || decision.decision === 'send_back';
  if (isReview && task.status !== 'review') {
    return failure('NOTHING_TO_DECIDE', `task ${task.id} is ${task.status}, not in review`, about);
  }
  const incident = openIncident(carried);
  if (!isReview && (incident === undefined || task.status !== 'in_progress')) {
    return failure('NOTHING_TO_DECIDE', `task ${task.id} has no open incident`, about);
  }
  if (!isReview && decision.incidentId !== undefined && decision.incidentId !== incident?.id) {
    return failure('TASK_STATUS_CONFLICT', `incident ${decision.incidentId} is not the open one`, {
      hint: `The open incident is ${incident?.id ?? 'none'}.`,
      ...about,
    });
  }
  const decided = isReview
    ? carried
    : {
        ...carried,
        incidents: carried.incidents.map((each) => (each === incident ? { ...each, decidedAt: at } : each)),
      };
  const next = transit(decided, transitionOf(carried, decision), { at, actor: decision.actor });
  return { carried: next, answer: { success: true, taskId: task.id, status: next.task.status } };
}

function transitionOf({ task }: Carried, { decision, note, incidentId }: Decision): Transition {
  const summary = boundedSummary(note ?? decision.replace('_', ' '));
  const detail = { type: 'decision', decision, ...(incidentId !== undefined && { incidentId }) };
  switch (decision) {
    case 'approve':
      return { to: 'completed', summary, detail };
    case 'send_back':
      return { to: 'interrupted', summary, detail: { ...detail, reason: 'review_rejected' }, fields: { result: null } };
    case 'accept':
      return { to: 'completed', summary, detail, fields: { result: task.result ?? summary } };
    case 'abandon':
      return { to: 'failed', summary, detail, fields: { failureReason: `interrupted_owner: abandoned (${summary})` } };
  }
}
