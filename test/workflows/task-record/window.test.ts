import type { RunReport } from '../../../contract/activities';
import type { Carried } from '../../../contract/run';
import { noteSchema, taskUpdateSchema } from '../../../contract/task';
import { newCarried } from '../../../contract/new-task';
import { utf8Length } from '../../../contract/text';
import { addActivity, updateTask } from '../../../workflows/task-record/commands';
import { settle } from '../../../workflows/task-record/settling';
import { undeliveredNotes } from '../../../workflows/task-record/undelivered';
import { overflowOf } from '../../../workflows/task-record/window';
import { isRefusal } from '../../../workflows/task-record/transitions';
import { goodReport } from '../../helpers/fake-host';
import { newTask } from '../../helpers/stage';
import { perform } from './perform';
import { AT, dispatch, taken, THREAD } from './steps';
import { at } from './story';

function noted(count: number, summary: string) {
  let carried = newCarried(newTask());
  for (let serial = 0; serial < count; serial += 1) {
    const step = addActivity(carried, noteSchema.parse({ summary: `${String(serial)} ${summary}` }), at(0));
    if (isRefusal(step)) throw new Error(step.error);
    carried = step.carried;
  }
  return carried;
}

function changed(count: number) {
  let carried = newCarried(newTask());
  for (let serial = 0; serial < count; serial += 1) {
    const step = updateTask(carried, taskUpdateSchema.parse({ title: String(serial) }), at(0));
    if (isRefusal(step)) throw new Error(step.error);
    carried = step.carried;
  }
  return carried;
}

describe('the window of a record', () => {
  it('moves the oldest activities when many have gathered, and numbers go on', () => {
    const carried = changed(400);
    const overflow = overflowOf(carried);
    expect(overflow?.entries[0]).toMatchObject({ kind: 'activity', id: 'a-1' });
    const dropped = overflow?.drop(carried);
    expect(dropped?.task.activities).toHaveLength(200);
    expect(dropped?.archived.activities).toBe(201);
    const next = perform(dropped ?? carried, { kind: 'note' });
    expect(next.task.activities.at(-1)?.id).toBe('a-402');
  });

  it('keeps notes that no run was given, as far as there is room for them (P117)', () => {
    expect(overflowOf(noted(900, 'note'))).toBeNull();
    const carried = noted(2_000, 'note');
    const kept = overflowOf(carried)
      ?.drop(carried)
      .task.activities.filter(({ detail }) => detail.type === 'note');
    expect(kept?.at(-1)?.summary).toBe('1999 note');
    expect(kept?.length).toBeGreaterThan(800);
  });

  it('moves as it did before in a run that began by the first rules', () => {
    expect(overflowOf({ ...noted(400, 'note'), version: 1 })?.entries).toHaveLength(201);
  });

  it('keeps a record below the limit of a payload, whatever notes hold (P50)', () => {
    let carried = newCarried(newTask({ description: '\u0001'.repeat(100_000) }));
    for (let serial = 0; serial < 60; serial += 1) {
      const step = addActivity(carried, noteSchema.parse({ summary: '\u0001'.repeat(16_000) }), at(0));
      if (isRefusal(step)) throw new Error(step.error);
      carried = overflowOf(step.carried)?.drop(step.carried) ?? step.carried;
    }
    expect(utf8Length(JSON.stringify(carried))).toBeLessThan(1_500_000);
  });

  it('keeps the last run that began, however many refused waits follow it: notes and tokens count once (RV8, CX-18)', () => {
    const told = newCarried(newTask());
    const run = (carried: Carried, change: Partial<RunReport>): Carried => {
      const begun = taken(dispatch(carried)).carried;
      const [attempt] = begun.attempts.slice(-1);
      if (attempt === undefined) throw new Error('there is no attempt');
      return settle(begun, goodReport(attempt, { outcome: 'failed', code: 'RUN_FAILED', ...change }), AT);
    };
    const total = (inputTokens: number) => ({ inputTokens, cachedInputTokens: 0, outputTokens: 0 });
    const refused = { startedAt: null, threadUsage: null, spawns: 0 };
    let carried = run(perform(told, { kind: 'note' }), { threadId: THREAD, threadUsage: total(1_000) });
    for (let serial = 0; serial < 44; serial += 1) carried = run(carried, refused);
    carried = overflowOf(carried)?.drop(carried) ?? carried;
    expect(carried.attempts.map(({ number }) => number).slice(0, 3)).toEqual([1, 26, 27]);
    expect(carried.archived.attempts).toBe(24);
    expect(undeliveredNotes(carried)).toEqual([]);
    const next = run(carried, { threadUsage: total(1_010) }).attempts.at(-1);
    expect(next).toMatchObject({ number: 46, threadId: THREAD, usage: total(10) });
  });

  it('keeps only an excerpt of what earlier attempts said', () => {
    let carried = newCarried(newTask());
    for (let serial = 0; serial < 3; serial += 1) {
      carried = perform(perform(carried, { kind: 'dispatch' }), { kind: 'settle', outcome: 'failed' });
      const last = carried.attempts.at(-1);
      if (last !== undefined) last.observation = { text: 'x'.repeat(30_000), bytes: 30_000 };
    }
    expect(carried.attempts.map(({ observation }) => observation?.text.length)).toEqual([500, 500, 30_000]);
  });

  it('refuses a task that is too large to carry (P51)', () => {
    const accept = Array.from({ length: 20 }, () => '界'.repeat(4_000));
    const files = Array.from({ length: 100 }, () => ({ path: '界'.repeat(4_000) }));
    expect(() => newCarried(newTask({ acceptance: accept, files }))).toThrow(/more than/);
  });
});
