import { z } from 'zod';
import { carriedSchema, dispatchSchema, RULES, rulesVersion, type Carried } from './run';
import { newTaskSchema, type NewTask, type Task } from './task';

/** Builds the record of a new task: always pending, whatever status the caller gave (TR1), with nothing run yet (TR2). */
export function newTaskRecord(input: NewTask): Task {
  const { actor, status, createdAt, ...given } = newTaskSchema.parse(input);
  const detail = { type: 'create', ...(status !== undefined && status !== 'pending' && { coercedFrom: status }) };
  return {
    ...given,
    status: 'pending',
    statusSince: createdAt,
    createdAt,
    updatedAt: createdAt,
    result: null,
    failureReason: null,
    activities: [{ id: 'a-1', at: createdAt, actor, summary: 'created', detail }],
  };
}

/** Everything that a chain of phases begins with. */
export function newCarried(input: NewTask, version: Carried['version'] = RULES): Carried {
  return {
    version,
    task: newTaskRecord(input),
    attempts: [],
    incidents: [],
    droppedIncidents: 0,
    requests: [],
    intent: null,
    stop: null,
    archived: { activities: 0, attempts: 0 },
    awaiting: null,
    dependants: [],
    owesCancel: false,
    delivery: null,
  };
}

/** A client that says none is one of the first ones. */
const version = rulesVersion.default(1);

/** Input of every phase: a new task, a new task to run at once, or what the phase before carried over. */
export const phaseInputSchema = z.union([
  z.strictObject({ carried: carriedSchema }),
  z.strictObject({ create: newTaskSchema, dispatch: dispatchSchema, attemptId: z.uuid(), version }),
  // `awaiting`: it is to be run when what it depends on has completed.
  z.strictObject({ create: newTaskSchema, awaiting: dispatchSchema.optional(), version }),
]);
export type PhaseInput = z.input<typeof phaseInputSchema>;
