import fc from 'fast-check';
import { newCarried } from '../../../contract/new-task';
import { decideSchema } from '../../../contract/decision';
import { statusChangeSchema, taskStatus, taskUpdateSchema, type StatusChange } from '../../../contract/task';
import { updateTask } from '../../../workflows/task-record/commands';
import { decide } from '../../../workflows/task-record/decisions';
import { setStatus } from '../../../workflows/task-record/status-change';
import { requestStop } from '../../../workflows/task-record/stopping';
import { isRefusal, type Step } from '../../../workflows/task-record/transitions';
import { newTask } from '../../helpers/stage';
import type { Model } from './model';
import { perform } from './perform';
import { follower, play, type Turn } from './play';
import { completesOnce, EDGES, followsTheTable, hold, reopensWhole, writesAtOnce } from './rules';
import * as runs from './run-rules';
import { at, stories, type Story } from './story';

const SEQUENCES = Number(process.env.PERDURE_SEQUENCES ?? 2_000);

/** A rule by itself gets a tenth of the stories: the first property looks at all rules together. */
function always(rule: (turn: Turn) => void): void {
  const property = fc.property(stories, (story) => void play(story, rule));
  fc.assert(property, { numRuns: Math.ceil(SEQUENCES / 10) });
}

const RULES = [followsTheTable, writesAtOnce, completesOnce, reopensWhole, ...Object.values(runs)];

/** What the model knows of a record, as the record has it. */
function seen({ task, attempts, intent, stop, incidents }: Turn['after']) {
  const thread = task.context.thread_id;
  return {
    status: task.status,
    ownerId: task.ownerId,
    thread: typeof thread === 'string' && thread.length === 36 ? thread : null,
    result: task.result,
    requireReview: task.requireReview,
    work: intent?.kind === 'reopen' ? (intent.then === null ? 'reopen' : 'reopenAndRun') : (intent?.kind ?? 'none'),
    isStopped: stop !== null,
    hasIncident: incidents.some(({ decidedAt }) => decidedAt === null),
    attempts: attempts.map(({ mode, threadId }) => ({ mode, thread: threadId })),
    activities: task.activities.length,
  };
}

function expected(model: Model): ReturnType<typeof seen> {
  const { status, ownerId, thread, result, requireReview, work } = model;
  const { isStopped, hasIncident, attempts, activities } = model;
  return { status, ownerId, thread, result, requireReview, work, isStopped, hasIncident, attempts, activities };
}

function followsTheModel(story: Story): void {
  const follow = follower(story);
  play(story, (turn) => {
    const { verdict, model } = follow(turn);
    hold('the verdict', turn.verdict === verdict, { is: turn.verdict, expected: verdict });
    const [is, should] = [JSON.stringify(seen(turn.after)), JSON.stringify(expected(model))];
    hold('the model', is === should, { is, should });
    const { failureReason } = turn.after.task;
    const isReason = (failureReason === null) === (model.failureReason === null);
    hold('the reason', isReason && (failureReason ?? '').includes(model.failureReason ?? ''), failureReason);
    for (const rule of RULES) rule(turn);
  });
}

const taken = <A>(step: Step<A>) => {
  if (isRefusal(step)) throw new Error(step.error);
  return step.carried;
};

describe('the record of a task', () => {
  it('follows the small model of the rules over any story (TS1 to TS23, DS1, DS2, RN1 to RN5, RO1 to RO12, RV7)', () => {
    fc.assert(fc.property(stories, followsTheModel), { numRuns: SEQUENCES });
  });

  it('moves only along the table, and a refusal writes nothing (TS7, TS8, TS13, TS20, TS21, TS23)', () => {
    always(followsTheTable);
  });

  it('writes a change, its fields and one entry together, and keeps every entry (TS12, TS14, TS15, TR8, TR9)', () => {
    always(writesAtOnce);
  });

  it('completes at most once between two reopenings (TS9, RO9)', () => {
    always(completesOnce);
  });

  it('says what a change without effect is, and stops the run of a cancelled task (TS19, TS21, TS22, RV1, RV2, RV7)', () => {
    always(runs.changesAsked);
  });

  it('reopens whole, and only what is terminal (RO1 to RO9, RO12)', () => {
    always(reopensWhole);
  });

  it('dispatches by status, and says why not (DS1 to DS5, DS10, DS13, DS17 to DS20)', () => {
    always(runs.dispatchesByStatus);
  });

  it('binds each attempt to its thread, owner and run (RN1 to RN6, RN12, TR5)', () => {
    always(runs.bindsAttempts);
  });

  it('numbers attempts and results without a gap and never edits one (SR1, RN12, RO7, DS10)', () => {
    always(runs.numbersAttempts);
  });

  it('settles a run once, and leaves a status that the worker set (SR10, SR14, TS17, RN10, RV10)', () => {
    always(runs.settlesRuns);
  });

  it('fails an orphan for its dispatcher and changes nothing else (OR2, OR4)', () => {
    always(runs.convergesOrphans);
  });

  it('answers a repeated request as the first time, and refuses other content under its id (GN10)', () => {
    always(runs.answersOnce);
  });

  it('carries everything over to the next phase (TM3)', () => {
    always(runs.losesNothing);
  });

  it('tells stories that reach every edge of the table and every refusal', () => {
    const edges = new Set<string>();
    const verdicts = new Set<string>();
    for (const story of fc.sample(stories, { numRuns: 2_000, seed: 1 })) {
      play(story, ({ before, after, verdict, command }) => {
        edges.add(`${before.task.status}>${after.task.status}`);
        verdicts.add(`${command.kind} ${verdict}`);
      });
    }
    expect(EDGES.filter((edge) => !edges.has(edge))).toEqual([]);
    expect(EVERY_VERDICT.filter((verdict) => !verdicts.has(verdict))).toEqual([]);
  });

  it('takes no status in an update, and makes every new task pending (TS11, TR1, TR2, TR3)', () => {
    for (const status of taskStatus.options) {
      expect(taskUpdateSchema.safeParse({ title: 'another', status }).success).toBe(false);
      const { task, attempts, intent } = newCarried(newTask({ status }));
      expect([task.status, attempts, intent]).toEqual(['pending', [], null]);
      expect(() => newCarried(newTask({ status, title: ' ' }))).toThrow(/blank/);
    }
  });

  it('takes an update of a task that was made with a thread that can be none (TR5)', () => {
    const odd = newCarried(newTask({ context: { thread_id: 'no thread' } }));
    expect(updateTask(odd, taskUpdateSchema.parse({ title: 'another' }), at(1))).toHaveProperty('carried');
  });

  it('completes with a result when a review is approved (TS12)', () => {
    let carried = newCarried(newTask({ requireReview: true }));
    const set = (change: StatusChange) => taken(setStatus(carried, statusChangeSchema.parse(change), at(1)));
    carried = set({ status: 'in_progress' });
    carried = set({ status: 'completed', result: 'done' });
    carried = taken(updateTask(carried, taskUpdateSchema.parse({ result: '' }), at(2)));
    const step = decide(carried, decideSchema.parse({ decision: 'approve' }), at(3));
    expect(isRefusal(step) || step.carried.task.result !== '').toBe(true);
  });

  it('keeps a stop until the run has answered it, and answers a second one like the first (US-10)', () => {
    const running = perform(newCarried(newTask()), { kind: 'dispatch' });
    const first = requestStop(running, { actor: 'a' }, at(1));
    if (!('carried' in first)) throw new Error('the stop was refused');
    const second = requestStop(first.carried, { actor: 'b' }, at(2));
    expect(second).toEqual({ carried: first.carried, answer: first.answer });
    expect(perform(first.carried, { kind: 'settle', outcome: 'stopped' }).stop).toBeNull();
  });

  it('never lets two settlements of one attempt count (TD-6)', () => {
    const running = perform(newCarried(newTask()), { kind: 'dispatch' });
    const settled = perform(running, { kind: 'settle', outcome: 'failed' });
    expect(perform(settled, { kind: 'settle', outcome: 'completed' })).toBe(settled);
  });
});

const EVERY_VERDICT = [
  ...['done', 'INVALID_ARGUMENT'].map((verdict) => `update ${verdict}`),
  ...['done', 'TASK_STATUS_CONFLICT', 'INVALID_ARGUMENT', 'AGENT_TASK_REQUIRED'].map(
    (verdict) => `setStatus ${verdict}`,
  ),
  ...['done', 'TASK_NOT_DISPATCHABLE', 'TASK_IN_REVIEW', 'AGENT_TASK_REQUIRED', 'AGENT_NOT_FOUND'].map(
    (verdict) => `dispatch ${verdict}`,
  ),
  'dispatch TASK_DEPENDENCIES_INCOMPLETE',
  ...['done', 'TASK_STATUS_CONFLICT'].map((verdict) => `reopen ${verdict}`),
  ...['done', 'NOTHING_TO_DECIDE', 'TASK_STATUS_CONFLICT'].map((verdict) => `decide ${verdict}`),
  ...['done', 'TASK_NOT_RUNNING'].map((verdict) => `stop ${verdict}`),
  ...['settle', 'judge', 'advance', 'orphan'].flatMap((kind) => [`${kind} done`, `${kind} nothing`]),
  ...['again repeated', 'again REQUEST_CONFLICT', 'misuse REQUEST_CONFLICT', 'misuse done', 'crash done', 'note done'],
];
