import { carriedSchema, type Carried, type CriterionResult } from '../../../contract/run';
import { addReceipt, concludeByCriteria, settle } from '../../../workflows/task-record/settling';
import { goodReport } from '../../helpers/fake-host';
import { AT, carriedWith, dispatch, set, taken } from './steps';

const ended = (carried: Carried, change: Parameters<typeof goodReport>[1] = {}) => {
  const attempt = carried.attempts.at(-1);
  if (attempt === undefined) throw new Error('there is no attempt');
  return settle(carried, goodReport(attempt, change), AT);
};
const running = () => taken(dispatch(carriedWith())).carried;
const FAILED = { outcome: 'failed', code: 'time_budget', error: 'too long' } as const;

describe('a run that has ended', () => {
  it('has a result id of its own, whether it succeeded or failed (SR1, SR10)', () => {
    const first = ended(running(), FAILED);
    const second = ended(taken(dispatch(first)).carried);
    const ids = second.attempts.map(({ executionResultId }) => executionResultId);
    expect(ids).toEqual(second.attempts.map(({ attemptId }) => `result:${attemptId}`));
    expect(new Set(ids).size).toBe(2);
  });

  it('counts a thread total that fell as zero, and notes it (CX-18)', () => {
    const total = (inputTokens: number) => ({ inputTokens, cachedInputTokens: 0, outputTokens: 10 });
    const first = ended(running(), { ...FAILED, threadId: 't', threadUsage: total(700) });
    const second = ended(taken(dispatch(first)).carried, { ...FAILED, threadId: 't', threadUsage: total(600) });
    const attempt = second.attempts.at(-1);
    expect(attempt?.usage).toEqual({ inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 });
    expect(attempt?.warnings.join()).toContain("usage_regressed: the thread's total fell (inputTokens 700 to 600)");
    expect(first.attempts.at(-1)?.warnings.join()).not.toContain('usage_regressed');
  });

  it('keeps its record in shape when the report names a reset time (P26)', () => {
    const limited = ended(running(), { ...FAILED, code: 'usage_limit', resetsAt: AT });
    expect(() => carriedSchema.parse(limited)).not.toThrow();
  });

  it('costs its delivery what it ran, and nothing of a sleep (BG-16)', () => {
    const begun = taken(dispatch(carriedWith({ acceptance: ['make test'] }), { supervise: {} })).carried;
    const slept = { startedAt: '2026-01-01T00:00:00.000Z', endedAt: '2026-01-01T09:00:00.000Z' };
    const awake = carriedSchema.parse(ended(begun, { ...FAILED, ...slept, ranMs: 4_000 }));
    expect(awake.delivery?.spent.timeMs).toBe(4_000);
    expect(ended(begun, { ...FAILED, ...slept }).delivery?.spent.timeMs).toBe(9 * 3_600_000);
  });

  it('has failed when its host says that it completed with a code', () => {
    const odd = { outcome: 'completed', code: 'RUN_FAILED' } as const;
    expect(ended(running(), odd)).toMatchObject({ task: { status: 'failed' }, attempts: [{ outcome: 'failed' }] });
    expect(ended({ ...running(), version: 3 }, odd).attempts).toMatchObject([{ outcome: 'completed' }]);
  });

  it('keeps its record in shape when a newer host finds more of a criterion', () => {
    const found = { command: 'make test', met: true, exitCode: 0, output: '' };
    const judged = concludeByCriteria(ended(running()), [{ ...found, newer: 1 } as CriterionResult], AT);
    expect(carriedSchema.parse(judged).attempts.at(-1)?.criteria).toEqual([found]);
  });

  it('has a receipt once, however often it was stored (RQ-4)', () => {
    const receipt = { receiptId: 'result:1', attemptId: '1', resultRef: 'r', sequence: 1, queuedAt: AT };
    const other = { ...receipt, receiptId: 'result:2' };
    const carried = [receipt, other, receipt].reduce(addReceipt, ended(running()));
    expect(carried.attempts.at(-1)?.receipts).toEqual([other, receipt]);
  });

  it('never completes its task (TS17)', () => {
    expect(ended(running()).task).toMatchObject({ status: 'in_progress', result: null });
  });

  it.each(['failed', 'time_budget'] as const)(
    'fails an open task when it ended %s itself, with the reason (SR14 (P), TS12)',
    (code) => {
      const error = code === 'failed' ? null : 'too long';
      const { task } = ended(running(), { ...FAILED, code: code === 'failed' ? null : code, error });
      expect(task.status).toBe('failed');
      expect(task.failureReason).toMatch(code === 'failed' ? /^RUN_FAILED: ./ : /^time_budget: too long$/);
      expect(task.activities.at(-1)).toMatchObject({ executionResultId: expect.stringMatching(/^result:/) as unknown });
    },
  );

  it.each([
    [{ status: 'completed', result: 'r' }],
    [{ status: 'interrupted', summary: 's' }],
    [{ status: 'cancelled' }],
  ] as const)('with a failure leaves %j of its worker as it is (SR14 (P))', (change) => {
    const settled = taken(set(running(), change)).carried;
    const { task } = ended(settled, FAILED);
    expect(task).toMatchObject({ status: change.status, failureReason: null });
    expect(task.activities).toEqual(settled.task.activities);
  });
});
