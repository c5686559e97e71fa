import { z } from 'zod';
import type { Outcome } from '../contract/failures';
import { decideSchema, decideUpdate, type Decide } from '../contract/decision';
import { reopenSchema, reopenUpdate, RUN_ACTOR, type Reopen } from '../contract/run';
import {
  addActivityUpdate,
  noteSchema,
  setStatusUpdate,
  statusChangeSchema,
  taskUpdateSchema,
  updateUpdate,
  type Note,
  type StatusChange,
  type TaskAnswer,
  type TaskUpdate,
} from '../contract/task';
import { aboutDelivery } from './held';
import { outcomeOf } from './outcome';
import { sendUpdate } from './send-update';
import type { Session } from './session';

/** Changes content fields of a task, never its status. */
export async function updateTask(session: Session, taskId: string, fields: TaskUpdate): Promise<Outcome<TaskAnswer>> {
  return outcomeOf(async () => {
    const request = taskUpdateSchema.parse({ actor: session.actor, ...fields });
    return sendUpdate(session, taskId, { definition: updateUpdate, request });
  }, taskId);
}

/** Adds a note to a task in whatever status it is. */
export async function noteTask(session: Session, taskId: string, note: Note): Promise<Outcome<TaskAnswer>> {
  return outcomeOf(async () => {
    const request = noteSchema.parse({ actor: session.actor, ...note });
    return sendUpdate(session, taskId, { definition: addActivityUpdate, request });
  }, taskId);
}

/** The run that claims a task from inside of itself, so that a dispatch finds it alive (TS4, DS15). */
function claimant({ actor }: Session, { status }: StatusChange): { runId?: string } {
  const run = z.uuid().safeParse(actor.slice(RUN_ACTOR.length));
  return status === 'in_progress' && actor.startsWith(RUN_ACTOR) && run.success ? { runId: run.data } : {};
}

/** Records an outcome or another change of status. */
export async function setTaskStatus(
  session: Session,
  taskId: string,
  change: StatusChange,
): Promise<Outcome<TaskAnswer>> {
  return outcomeOf(async () => {
    const request = statusChangeSchema.parse({ actor: session.actor, ...claimant(session, change), ...change });
    return sendUpdate(session, taskId, { definition: setStatusUpdate, request });
  }, taskId);
}

/** Brings a completed or cancelled task back to `in_progress` without starting a run. */
export async function reopenTask(
  session: Session,
  taskId: string,
  reopen: Reopen,
): Promise<Outcome<{ taskId: string }>> {
  return outcomeOf(async () => {
    const request = reopenSchema.parse({ actor: session.actor, ...reopen });
    return sendUpdate(session, taskId, { definition: reopenUpdate, request });
  }, taskId);
}

/** Records a person's decision about an incident or a review. */
export async function decideTask(
  session: Session,
  taskId: string,
  decision: Decide,
): Promise<Outcome<{ taskId: string; status: string; attemptId?: string }>> {
  const decided = await outcomeOf(async () => {
    const request = decideSchema.parse({ actor: session.actor, ...decision });
    return sendUpdate(session, taskId, { definition: decideUpdate, request });
  }, taskId);
  return decided.success ? decided : aboutDelivery(session, taskId, decided);
}
