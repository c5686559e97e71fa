import type { z } from 'zod';
import { NO_RELATIONS, type Relations } from '../../../contract/relation';
import { decideSchema } from '../../../contract/decision';
import { dispatchSchema, reopenSchema, stopSchema, type Carried } from '../../../contract/run';
import { noteSchema, statusChangeSchema, taskUpdateSchema } from '../../../contract/task';
import { newCarried } from '../../../contract/new-task';
import { attemptIdFor } from '../../../workflows/task-record/attempt-id';
import { addActivity, updateTask } from '../../../workflows/task-record/commands';
import { decide } from '../../../workflows/task-record/decisions';
import { dispatchTask, notDispatchable } from '../../../workflows/task-record/dispatching';
import { acceptReopen } from '../../../workflows/task-record/reopening';
import { digestOf, recall, remember } from '../../../workflows/task-record/requests';
import { setStatus } from '../../../workflows/task-record/status-change';
import { requestStop } from '../../../workflows/task-record/stopping';
import { isRefusal, type Step } from '../../../workflows/task-record/transitions';
import { isSettling } from '../../../workflows/task-record/view';
import { newTask } from '../../helpers/stage';
import { happen } from './happen';
import type { Verdict } from './model';
import { ACTOR, at, threadOf, type Beginning, type Happening, type Request } from './story';

const THREAD = { none: undefined, good: threadOf(0), blank: '  ' };
/** The record that a creation comes to. */
export function beginRecord({ status, ownerType, ownerId, thread, requireReview }: Beginning): Carried {
  const context = THREAD[thread] === undefined ? {} : { thread_id: THREAD[thread] };
  return newCarried(newTask({ id: 'T-1', ownerType, ownerId, context, requireReview, ...(status && { status }) }));
}

/** A request as it was sent; the serial is its id. */
export interface Sent {
  readonly serial: number;
  readonly request: Request | { readonly kind: 'other' };
  /** The incident that was open then. */
  readonly incidentId: string | undefined;
}

/** What came of a command: the record after it, the verdict, and what the caller was answered. */
export interface Done {
  readonly carried: Carried;
  readonly verdict: Verdict;
  readonly answer?: unknown;
}

interface Update<S extends z.ZodType> {
  readonly name: string;
  readonly schema: S;
  readonly input: unknown;
  perform(carried: Carried, input: z.output<S>): Step<object>;
}

/** Takes a request as the update handlers do: schema, earlier answer, effect, memory. */
function submit<S extends z.ZodType<object>>(carried: Carried, update: Update<S>): Done {
  const parsed = update.schema.safeParse(update.input);
  if (!parsed.success) return { carried, verdict: 'INVALID_ARGUMENT' };
  const digest = digestOf(update.name, parsed.data);
  const known = recall(carried, parsed.data, digest);
  if (known !== null && isRefusal(known)) return { carried, verdict: known.code, answer: known };
  if (known !== null) return { carried, verdict: 'repeated', answer: known.answer };
  const step = update.perform(carried, parsed.data);
  if (isRefusal(step)) return { carried, verdict: step.code, answer: step };
  const answer = step.answer as Carried['requests'][number]['answer'];
  return { carried: remember(step.carried, parsed.data, { digest, answer }), verdict: 'done', answer };
}

const dependency = (status: 'completed' | 'failed') => ({ id: 'T-0', status, title: 'first', text: '' });
const relations = (waits: boolean): Relations => ({
  ...NO_RELATIONS,
  dependencies: [dependency(waits ? 'failed' : 'completed')],
});

const CONTENT = {
  title: () => ({ title: 'another' }),
  metadata: () => ({ metadata: { module: 'x' } }),
  result: (serial: number) => ({ result: `result q${String(serial)}` }),
  failureReason: (serial: number) => ({ failureReason: `failure q${String(serial)}` }),
  review: () => ({ requireReview: true }),
  noReview: () => ({ requireReview: false }),
  owner: () => ({ ownerId: 'somebody' }),
  thread: (serial: number) => ({ context: { thread_id: threadOf(serial), note: 'kept' } }),
  blankThread: () => ({ context: { thread_id: ' ' } }),
  oddThread: () => ({ context: { thread_id: 'no thread' } }),
  nothing: () => ({}),
  status: () => ({ title: 'another', status: 'completed' }),
};

/** Sends a request to a record. */
export function send(carried: Carried, sent: Sent, now: string): Done {
  const { serial, request } = sent;
  const common = { requestId: `q${String(serial)}`, actor: ACTOR };
  const by = <S extends z.ZodType<object>>(
    name: string,
    schema: S,
    [fields, perform]: [object, (carried: Carried, input: z.output<S>, at: string) => Step<object>],
  ) =>
    submit(carried, {
      name,
      schema,
      input: { ...common, ...fields },
      perform: (now_, input) => perform(now_, input, now),
    });
  switch (request.kind) {
    case 'update':
      return by('update', taskUpdateSchema, [CONTENT[request.change](serial), updateTask]);
    case 'setStatus':
      return by('setStatus', statusChangeSchema, [statusFields(request, serial), setStatus]);
    case 'note':
      return by('addActivity', noteSchema, [{ summary: `note q${String(serial)}` }, addActivity]);
    case 'other':
      return by('addActivity', noteSchema, [{ summary: 'something else' }, addActivity]);
    case 'stop':
      return by('stop', stopSchema, [{}, requestStop]);
    case 'reopen': {
      const fields = { replaceThread: request.replace, ...(request.withThread && { threadId: threadOf(serial) }) };
      return by('reopen', reopenSchema, [fields, (given, input) => acceptReopen(given, input)]);
    }
    case 'decide': {
      const incidentId = request.incident === 'named' ? sent.incidentId : 'incident:other';
      const fields = { decision: request.decision, ...(request.incident !== '' && { incidentId }) };
      return by('decide', decideSchema, [fields, decide]);
    }
    case 'dispatch':
      return sendDispatch(carried, { serial, request }, now);
  }
}

function statusFields({ to, withText }: Extract<Request, { kind: 'setStatus' }>, serial: number) {
  const mark = `q${String(serial)}`;
  const text = { result: `result ${mark}`, failureReason: `failure ${mark}`, summary: `summary ${mark}` };
  return { status: to, ...(withText && text) };
}

type DispatchRequest = Extract<Request, { kind: 'dispatch' }>;

/** A dispatch comes to one attempt id; a phase that still settles a run takes none. */
function sendDispatch(carried: Carried, sent: { serial: number; request: DispatchRequest }, now: string): Done {
  const { agent, criteria, waits } = sent.request;
  const requestId = `q${String(sent.serial)}`;
  return submit(carried, {
    name: 'dispatch',
    schema: dispatchSchema,
    input: { requestId, actor: ACTOR, agentId: agent, completion: criteria ? 'criteria' : 'caller' },
    perform: (current, dispatch) => {
      const isOwed = current.stop !== null && current.intent === null;
      if (isOwed || isSettling(current.attempts.at(-1))) return notDispatchable(current.task);
      const attemptId = attemptIdFor('task/default/T-1', requestId);
      return dispatchTask(current, { dispatch, attemptId, at: now, relations: relations(waits) });
    },
  });
}

/** A command with the usual answers to what it leaves open. */
export type Short =
  { kind: 'note' | 'dispatch' } | { kind: 'settle'; outcome: Extract<Happening, { kind: 'settle' }>['outcome'] };

let shorts = 0;

/** Performs one command of a test that tells its own story. */
export function perform(carried: Carried, command: Short): Carried {
  const serial = (shorts += 1);
  if (command.kind === 'settle') return happen(carried, { ...command, withThread: true }, serial).carried;
  const usual = { agent: 'general-purpose' as const, criteria: false, waits: false };
  const request: Request = command.kind === 'note' ? { kind: 'note' } : { kind: 'dispatch', ...usual };
  return send(carried, { serial, request, incidentId: undefined }, at(serial)).carried;
}
