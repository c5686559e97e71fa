import fc from 'fast-check';
import { carriedSchema } from '../../../contract/run';
import { requestStop } from '../../../workflows/task-record/stopping';
import { isRunning } from '../../../workflows/task-record/view';
import { AT, begin, commands, perform, predict } from './model';

const SEQUENCES = Number(process.env.PERDURE_SEQUENCES ?? 3_000);

describe('the record of a task', () => {
  it('follows the table of statuses over any sequence of commands (TS7, TS8, TS9, TS13, DS1, RO1, SR14 (P))', () => {
    fc.assert(
      fc.property(fc.array(commands, { maxLength: 30 }), (sequence) => {
        let { carried, model } = begin();
        for (const command of sequence) {
          // A stop of an interrupted owner is a decision that the small model leaves out.
          if (command.kind === 'stop' && !isRunning(carried)) continue;
          const before = carried;
          carried = perform(carried, command);
          model = predict(model, command);
          expect({ status: carried.task.status, isRunning: isRunning(carried) }).toEqual({
            status: model.status,
            isRunning: model.isRunning,
          });
          expect(carried.task.activities.slice(0, before.task.activities.length)).toEqual(before.task.activities);
        }
        const completed = carried.task.activities.filter(({ detail }) => detail.type === 'completed').length;
        expect(completed).toBe(model.completions);
        expect(completed).toBeLessThanOrEqual(model.reopenings + 1);
        expect(carried.attempts).toHaveLength(model.attempts);
        expect(new Set(carried.task.activities.map(({ id }) => id)).size).toBe(carried.task.activities.length);
        expect(carriedSchema.safeParse(carried).error).toBeUndefined();
      }),
      { numRuns: SEQUENCES },
    );
  });

  it('keeps a stop until the run has answered it, and answers a second one like the first (US-10)', () => {
    const running = perform(begin().carried, { kind: 'dispatch' });
    const first = requestStop(running, { actor: 'a' }, AT);
    if (!('carried' in first)) throw new Error('the stop was refused');
    const second = requestStop(first.carried, { actor: 'b' }, '2026-02-02T00:00:00.000Z');
    expect(second).toEqual({ carried: first.carried, answer: first.answer });
    expect(perform(first.carried, { kind: 'settle', outcome: 'stopped' }).stop).toBeNull();
  });

  it('never lets two settlements of one attempt count (TD-6)', () => {
    const settled = perform(perform(begin().carried, { kind: 'dispatch' }), { kind: 'settle', outcome: 'failed' });
    expect(perform(settled, { kind: 'settle', outcome: 'completed' })).toBe(settled);
  });
});
