import { deliverySchema, type Delivery } from '../../../contract/delivery';
import { account, budgetReason, isProgress, limitsWithin, raise } from '../../../workflows/task-record/delivery';
import type { Attempt } from '../../../contract/run';
import { checkpoint } from '../../helpers/checkpoint';

const delivery: Delivery = {
  budget: { tokens: 1_000, timeMs: 60_000, attempts: 3, progress: 2 },
  verify: false,
  spent: { tokens: 0, timeMs: 0, attempts: 0 },
  fruitless: 0,
  misses: 0,
  checkpoint: null,
  findings: [],
  diagnostic: null,
  workspace: null,
  pausedBy: null,
};
const having = (spent: Partial<Delivery['spent']>, fruitless = 0): Delivery => ({
  ...delivery,
  spent: { ...delivery.spent, ...spent },
  fruitless,
});

describe('the budget of a delivery', () => {
  it.each([
    ['nothing used', having({}), null],
    ['one token left', having({ tokens: 999 }), null],
    ['the last token used', having({ tokens: 1_000 }), 'token_budget'],
    ['a second left', having({ timeMs: 59_000 }), null],
    ['less than a second left', having({ timeMs: 59_001 }), 'time_budget'],
    ['one attempt left', having({ attempts: 2 }), null],
    ['no attempt left', having({ attempts: 3 }), 'attempt_budget'],
    ['one without progress', having({}, 1), null],
    ['two without progress', having({}, 2), 'progress_budget'],
    [
      'no ceiling',
      { ...having({ tokens: 1e9, timeMs: 1e9 }), budget: { ...delivery.budget, tokens: null, timeMs: null } },
      null,
    ],
  ])('with %s (BG-1, BG-3, BG-5)', (_, of, reason) => {
    expect(budgetReason(of, true)).toBe(reason);
  });

  it('never ends what runs for the lack of progress (BG-2)', () => {
    expect(budgetReason(having({}, 9), false)).toBeNull();
  });

  it('counts tokens that were not cached, run time, and attempts that were started (BG-15, BG-16)', () => {
    const attempt = {
      usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens: 5 },
      startedAt: '2026-01-01T00:00:00.000Z',
      endedAt: '2026-01-01T00:00:10.000Z',
      spawns: 1,
    } as Attempt;
    expect(account(delivery, attempt).spent).toEqual({ tokens: 65, timeMs: 10_000, attempts: 1 });
    expect(account(delivery, { ...attempt, usage: null, startedAt: null, spawns: 0 }).spent).toEqual(delivery.spent);
    expect(account(delivery, { ...attempt, ranMs: 4_000 }).spent).toMatchObject({ timeMs: 4_000 });
    const setBack = { ...attempt, endedAt: '2025-12-31T00:00:00.000Z' };
    expect(account(delivery, setBack).spent).toMatchObject({ timeMs: 0 });
  });

  it('gives the next attempt what is left of its time, and is raised by what a person gives (BG-13)', () => {
    const limits = { timeMs: 40_000, inactivityMs: 1, startMs: 1, outputBytes: 1 };
    expect(limitsWithin(limits, having({ timeMs: 30_000 })).timeMs).toBe(30_000);
    expect(limitsWithin(limits, having({}))).toEqual(limits);
    expect(limitsWithin(limits, null)).toEqual(limits);
    const raised = raise(having({ tokens: 1_200, attempts: 3 }), { tokens: 500, attempts: 2 });
    expect(raised.budget).toEqual({ tokens: 1_700, timeMs: 60_000, attempts: 5, progress: 2 });
    expect(raised.spent).toMatchObject({ tokens: 1_200, attempts: 3 });
  });

  it('loses nothing when it is raised, and stays one that can be carried (BG-13)', () => {
    const of = (change: Partial<Delivery['budget']>, spent: Partial<Delivery['spent']> = {}): Delivery => ({
      ...having(spent),
      budget: { ...delivery.budget, ...change },
    });
    expect(raise(of({ tokens: null, timeMs: null }), { tokens: 5, timeMs: 1_000 }).budget).toMatchObject({
      tokens: null,
      timeMs: null,
    });
    expect(raise(of({ timeMs: 3_600_000 }), { timeMs: 1_000, attempts: 1 }).budget).toMatchObject({
      timeMs: 3_600_000,
      attempts: 3,
    });
    expect(raise(having({ tokens: 1_200 }), {})).toEqual(having({ tokens: 1_200 }));
    const most = { tokens: 1e12, timeMs: 365 * 86_400_000, attempts: 1_000 };
    const raised = raise(of(most, { tokens: 1e12, timeMs: 1_000, attempts: 999 }), most);
    expect(raised.budget).toMatchObject({ tokens: 2e12, attempts: 1_999 });
    expect(deliverySchema.safeParse(raised).success).toBe(true);
  });
});

describe('progress', () => {
  const before = checkpoint('T', { remainingWork: ['a', 'b'], criteria: [{ id: 'c1', state: 'unmet', evidence: [] }] });
  const known = (workspace: string | null = null): Delivery => ({
    ...delivery,
    workspace,
    checkpoint: { attemptId: '0199aaaa-bbbb-4ccc-8ddd-000000000001', at: '2026-01-01T00:00:00.000Z', report: before },
  });

  it('is told by a record whatever earlier rules accepted in it', () => {
    const blank = { ...before, summary: '', nextStep: '', question: '', remainingWork: [''] };
    const kept = known().checkpoint;
    expect(deliverySchema.safeParse({ ...delivery, checkpoint: { ...kept, report: blank } }).success).toBe(true);
  });

  it('is a first checkpoint, a criterion newly met, less work, or another workspace (BG-12)', () => {
    expect(isProgress(delivery, before, null)).toBe(true);
    expect(isProgress(known(), before, null)).toBe(false);
    expect(isProgress(known(), { ...before, remainingWork: ['a'] }, null)).toBe(true);
    expect(isProgress(known(), { ...before, criteria: [{ id: 'c1', state: 'met', evidence: [] }] }, null)).toBe(true);
    expect(isProgress(known('x'), before, 'y')).toBe(true);
    expect(isProgress(known('x'), before, 'x')).toBe(false);
  });
});
