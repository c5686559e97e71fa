import fc from 'fast-check';
import { decideSchema } from '../../../contract/decision';
import { runOutcome, type RunOutcome } from '../../../contract/run';
import { taskStatus, type TaskStatus } from '../../../contract/task';

const START = Date.parse('2026-01-02T03:04:05.000Z');

/** The moment of a step. */
export const at = (serial: number): string => new Date(START + serial * 1_000).toISOString();
export const ACTOR = 'tester';
/** The thread that a step brings, where it brings one. */
export const threadOf = (serial: number): string => `0199aaaa-bbbb-7ccc-8ddd-${String(serial).padStart(12, '0')}`;

const CHANGES = ['title', 'metadata', 'result', 'failureReason', 'review', 'noReview', 'owner'] as const;
const THREADS = ['thread', 'blankThread', 'oddThread'] as const;

/** The decisions that end something; those that begin an attempt are made where the task rests, like a dispatch. */
const DECISIONS = decideSchema.shape.decision.exclude(['retry', 'continue']).options;

/** What somebody asks of a task; each carries a request id. */
export type Request =
  | { kind: 'update'; change: (typeof CHANGES)[number] | (typeof THREADS)[number] | 'nothing' | 'status' }
  | { kind: 'setStatus'; to: TaskStatus; withText: boolean }
  | { kind: 'note' | 'stop' }
  | { kind: 'dispatch'; agent: 'general-purpose' | 'nobody'; criteria: boolean; waits: boolean }
  | { kind: 'reopen'; replace: boolean; withThread: boolean }
  | {
      kind: 'decide';
      decision: (typeof DECISIONS)[number];
      incident: 'named' | 'other' | '';
    };

/** What happens to a task without anybody asking. */
export type Happening =
  | { kind: 'settle'; outcome: RunOutcome; withThread: boolean }
  /** The acceptance criteria were checked. */
  | { kind: 'judge'; met: boolean }
  /** The phase that was asked for begins. */
  | { kind: 'advance' }
  | { kind: 'orphan' }
  /** The phase ends and the next one reads what it carried. */
  | { kind: 'crash' };

/** An earlier request is sent once more, or its id with something else. */
export type Repetition = { kind: 'again' | 'misuse'; back: number };

export type Command = Request | Happening | Repetition;

/** How a task begins. */
export interface Beginning {
  readonly status: TaskStatus | undefined;
  readonly ownerType: 'agent' | 'user';
  readonly ownerId: 'general-purpose' | 'somebody';
  readonly thread: 'none' | 'good' | 'blank';
  readonly requireReview: boolean;
}

const often = <T>(usual: T, rare: T) => fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, fc.constant(rare));
const kind = <K extends string>(name: K) => fc.constant(name);
const of = <const T extends string>(...values: T[]) => fc.constantFrom(...values);

const dispatch = fc.record({
  kind: kind('dispatch'),
  agent: often<'general-purpose' | 'nobody'>('general-purpose', 'nobody'),
  criteria: fc.boolean(),
  waits: often(false, true),
});
const setStatus = fc.record({
  kind: kind('setStatus'),
  to: fc.constantFrom(...taskStatus.options),
  withText: often(true, false),
});
const update = fc.record({
  kind: kind('update'),
  change: fc.constantFrom(...CHANGES, ...THREADS, 'nothing' as const, 'status' as const),
});
const reopen = fc.record({ kind: kind('reopen'), replace: fc.boolean(), withThread: fc.boolean() });
const decide = fc.record({
  kind: kind('decide'),
  decision: fc.constantFrom(...DECISIONS),
  incident: of('', 'named', 'other'),
});
const settle = fc.record({
  kind: kind('settle'),
  outcome: fc.constantFrom(...runOutcome.options),
  withThread: often(true, false),
});
const judge = fc.record({ kind: kind('judge'), met: fc.boolean() });
const small = fc.record({ kind: of('note', 'stop', 'orphan', 'crash') });
const repetition = fc.record({ kind: of('again', 'misuse'), back: fc.nat({ max: 8 }) });

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: dispatch },
  { weight: 7, arbitrary: setStatus },
  { weight: 4, arbitrary: settle },
  { weight: 3, arbitrary: fc.record({ kind: kind('advance') }) },
  { weight: 4, arbitrary: small },
  { weight: 2, arbitrary: update },
  { weight: 2, arbitrary: reopen },
  { weight: 2, arbitrary: decide },
  { weight: 2, arbitrary: judge },
  { weight: 2, arbitrary: repetition },
);

const beginning: fc.Arbitrary<Beginning> = fc.record({
  status: fc.option(fc.constantFrom(...taskStatus.options), { nil: undefined }),
  ownerType: often<'agent' | 'user'>('agent', 'user'),
  ownerId: fc.constantFrom('general-purpose', 'somebody'),
  thread: of('none', 'good', 'blank'),
  requireReview: often(false, true),
});

/** A command in one line, as counterexamples show it. */
export const told = ({ kind: name, ...rest }: Command): string =>
  [name, ...Object.entries(rest).map(([key, value]) => `${key}=${String(value)}`)].join(' ');

/** A whole life of a task; shrinking drops commands first, and a counterexample reads as a list of them. */
export class Story {
  constructor(
    readonly beginning: Beginning,
    readonly commands: readonly Command[],
  ) {}

  [fc.toStringMethod](): string {
    const lines = [
      JSON.stringify(this.beginning),
      ...this.commands.map((each, step) => `${String(step + 1)}. ${told(each)}`),
    ];
    return `\n  ${lines.join('\n  ')}\n`;
  }
}

/** Any life of a task. */
export const stories: fc.Arbitrary<Story> = fc
  .tuple(beginning, fc.array(command, { maxLength: 40, size: 'max' }))
  .map(([first, commands]) => new Story(first, commands));
