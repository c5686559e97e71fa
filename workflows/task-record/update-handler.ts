import type { UpdateDefinition } from '@temporalio/common';
import { CancellationScope, setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { invalidArgument, type Failure } from '../../contract/failures';
import type { Carried } from '../../contract/run';
import { now, type TaskRecord } from './record';
import { refuse } from './refusal';
import { digestOf, recall, remember, requestConflict } from './requests';
import { isRefusal, type Step } from './transitions';

type RequestSchema = z.ZodType<{ requestId?: string | undefined }>;
type Answer = Carried['requests'][number]['answer'];

/** How a phase takes one kind of update. */
interface UpdateRule<S extends RequestSchema, A> {
  readonly schema: S;
  /** What is wrong with a payload that the schema does not take, where that has a code of its own. */
  explain?(raw: unknown): Failure | null;
  /** Refuses before anything enters history; null lets the update in. */
  check(input: z.output<S>): Failure | null;
  /** Answers the accepted update; throws a refusal that only came out later. */
  accept(input: z.output<S>): Promise<A>;
}

/** Registers an update whose repetition by request id gives the first answer and has no second effect (GN9, GN10). */
export function update<S extends RequestSchema, A extends object>(
  record: TaskRecord,
  definition: UpdateDefinition<A, [z.input<S>]>,
  rule: UpdateRule<S, A>,
): void {
  // One for all kinds of requests: an id means one of them.
  const { inFlight } = record;
  const answerOnce = async (input: z.output<S>, digest: string): Promise<A> => {
    // An operator's cancellation of the workflow is a stop of the run, and never loses a request that was accepted.
    const answer = await CancellationScope.nonCancellable(() => rule.accept(input));
    record.commit((carried) => remember(carried, input, { digest, answer: answer as Answer }));
    return answer;
  };
  const handler = (raw: z.input<S>): Promise<A> => {
    record.countUpdate();
    const input = rule.schema.parse(raw);
    const digest = digestOf(definition.name, input);
    const known = recall(record.carried, input, digest);
    if (known !== null) return Promise.resolve('answer' in known ? (known.answer as A) : refuse(known));
    const { requestId } = input;
    if (requestId === undefined) return answerOnce(input, digest);
    const flying = inFlight.get(requestId);
    if (flying !== undefined) return flying.answer as Promise<A>;
    const answer = answerOnce(input, digest).finally(() => inFlight.delete(requestId));
    inFlight.set(requestId, { digest, answer });
    return answer;
  };
  const validator = (raw: z.input<S>): void => {
    const parsed = rule.schema.safeParse(raw);
    if (!parsed.success) refuse(rule.explain?.(raw) ?? invalidArgument(parsed.error));
    const digest = digestOf(definition.name, parsed.data);
    const known = recall(record.carried, parsed.data, digest);
    if (known !== null && isRefusal(known)) refuse(known);
    if (known !== null) return;
    const flying = inFlight.get(parsed.data.requestId ?? '');
    if (flying?.digest === digest) return;
    if (flying !== undefined) refuse(requestConflict(record.carried, parsed.data));
    const refusal = rule.check(parsed.data);
    if (refusal !== null) refuse(refusal);
  };
  setHandler(definition, handler, { validator });
}

/** What a pure command needs: its schema, and what it makes of a record. */
interface Command<S extends RequestSchema, A> {
  readonly schema: S;
  perform(carried: Carried, input: z.output<S>, at: string): Step<A>;
}

/** Registers an update that is one pure command: the validator tries it, the handler commits it. */
export function command<S extends RequestSchema, A extends object>(
  record: TaskRecord,
  definition: UpdateDefinition<A, [z.input<S>]>,
  { schema, perform }: Command<S, A>,
): void {
  update(record, definition, {
    schema,
    check(input) {
      const step = perform(record.carried, input, now());
      return isRefusal(step) ? step : null;
    },
    accept: (input) => Promise.resolve(record.perform((carried) => perform(carried, input, now()))),
  });
}
