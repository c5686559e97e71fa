import { taskStatus, type StatusChange, type TaskStatus } from '../../../contract/task';
import { settle } from '../../../workflows/task-record/settling';
import { goodReport } from '../../helpers/fake-host';
import { carriedWith, dispatch, set, taken, THREAD } from './steps';

const WORDS = { result: 'r', failureReason: 'f', summary: 's' };
const ALLOWED: Record<TaskStatus, readonly TaskStatus[]> = {
  pending: ['in_progress', 'cancelled'],
  in_progress: ['completed', 'failed', 'interrupted', 'cancelled'],
  interrupted: ['in_progress', 'cancelled'],
  review: ['cancelled'],
  failed: ['cancelled'],
  completed: [],
  cancelled: [],
};
const pairs = taskStatus.options.flatMap((from) => taskStatus.options.map((to) => [from, to] as const));
const allowed = pairs.filter(([from, to]) => ALLOWED[from].includes(to));
const forbidden = pairs.filter(([from, to]) => !ALLOWED[from].includes(to) && !(from === 'pending' && to === from));

describe('a change of status', () => {
  it.each(allowed)('from %s to %s is one step with exactly one activity (TS13, TS14, TS15)', (from, to) => {
    const before = carriedWith({ status: from });
    const untouched = structuredClone(before);
    const { task } = taken(set(before, { status: to, ...WORDS })).carried;
    expect(task.status).toBe(to);
    expect(task.activities).toHaveLength(2);
    expect(task.activities.at(-1)).toMatchObject({
      actor: 'tester',
      summary: expect.stringMatching(/./) as unknown,
      detail: { type: expect.stringMatching(/./) as unknown, from, to },
    });
    expect(before).toEqual(untouched);
  });

  it.each(forbidden)('from %s to %s is refused, naming the status (TS7, TS8, TS13, TS20 (P))', (from, to) => {
    const refusal = set(carriedWith({ status: from }), { status: to, ...WORDS });
    expect(refusal).toMatchObject({ success: false, code: 'TASK_STATUS_CONFLICT', retryable: false });
    expect(JSON.stringify(refusal)).toContain(from);
  });

  it.each(['failed', 'interrupted'] as const)('rests at %s: a dispatch takes it up again (TS1, DS1)', (status) => {
    expect(taken(dispatch(carriedWith({ status }))).carried.task.status).toBe('in_progress');
  });

  it.each(['completed', 'cancelled'] as const)('ends at %s: only a reopening follows (TS1, TS23 (P))', (status) => {
    const ended = carriedWith({ status });
    expect(set(ended, { status: 'in_progress' })).toMatchObject({
      code: 'TASK_STATUS_CONFLICT',
      hint: expect.stringMatching(/[Dd]ispatch/) as unknown,
    });
    expect(taken(dispatch(ended)).carried.intent).toMatchObject({ kind: 'reopen' });
  });

  it.each<[StatusChange, string]>([
    [{ status: 'completed', result: ' ' }, 'result'],
    [{ status: 'completed' }, 'result'],
    [{ status: 'failed' }, 'failureReason'],
    [{ status: 'interrupted' }, 'summary'],
  ])('that lacks what it must carry is refused: %j (TS12, RV1)', (change, what) => {
    const refusal = set(carriedWith({ status: 'in_progress' }), change);
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', error: expect.stringContaining(what) as unknown });
  });

  it.each(taskStatus.options)('to %s is for tasks of agents alone (TS16)', (status) => {
    const task = carriedWith({ status: 'in_progress', ownerType: 'user', ownerId: 'ada' });
    expect(set(task, { status, ...WORDS })).toMatchObject({ success: false, code: 'AGENT_TASK_REQUIRED' });
  });

  it('binds the run and the thread that claim the task, with the status (TS4, TS14)', () => {
    const runId = '00000000-0000-4000-8000-000000000001';
    const { task } = taken(set(carriedWith(), { status: 'in_progress', runId, threadId: THREAD })).carried;
    expect(task).toMatchObject({ status: 'in_progress', context: { thread_id: THREAD, run_id: runId } });
  });

  it('to in_progress writes nothing on a task that a dispatched run executes (TS19 (P))', () => {
    const { carried } = taken(dispatch(carriedWith()));
    expect(taken(set(carried, { status: 'in_progress', threadId: THREAD })).carried).toBe(carried);
  });

  it('to pending writes nothing on a pending task, and is refused to any other (TS21 (P))', () => {
    const carried = carriedWith();
    expect(taken(set(carried, { status: 'pending' })).carried).toBe(carried);
    expect(set(carriedWith({ status: 'failed' }), { status: 'pending' })).toMatchObject({
      code: 'TASK_STATUS_CONFLICT',
    });
  });

  it('to cancelled asks the run to stop, whose completion comes too late (TS22 (P))', () => {
    const running = taken(dispatch(carriedWith())).carried;
    const { carried } = taken(set(running, { status: 'cancelled' }));
    expect(carried.stop).toMatchObject({ actor: 'tester' });
    expect(set(carried, { status: 'completed', result: 'r' })).toMatchObject({ code: 'TASK_STATUS_CONFLICT' });
    const attempt = carried.attempts[0];
    if (attempt === undefined) throw new Error('there is no attempt');
    const after = settle(carried, goodReport(attempt, { outcome: 'stopped', code: 'user_stopped' }), '2026-02-02');
    expect(after.task).toMatchObject({ status: 'cancelled', result: null });
  });

  it.each([undefined, 'missing_input', 'external_wait', 'the moon'])(
    'to interrupted keeps the reason %s, by default missing_input (RV1, RV2, RV10 (P))',
    (reason) => {
      const change = { status: 'interrupted' as const, summary: 'Which colour?', ...(reason && { reason }) };
      const last = taken(set(carriedWith({ status: 'in_progress' }), change)).carried.task.activities.at(-1);
      expect(last).toMatchObject({ summary: 'Which colour?', detail: { reason: reason ?? 'missing_input' } });
    },
  );
});
