import type { RunReport } from '../../../contract/activities';
import type { DirectTask } from '../../../contract/direct';
import { newDirectTask } from '../../../contract/new-direct';
import { begin, confirmStop, decide, noteRecovery, requestStop, settle } from '../../../workflows/direct-task/state';
import { newDirect } from '../../helpers/direct';
import { goodReport } from '../../helpers/fake-host';

const ATTEMPT = '01a00000-0000-8000-a000-000000000001';
const AT = '2026-01-01T00:00:05.000Z';
const fresh = (change: object = {}) => newDirectTask(newDirect({ createdAt: '2026-01-01T00:00:00.000Z', ...change }));
const running = (change: object = {}) => begin(fresh(change), ATTEMPT, AT);
const report = (change: Partial<RunReport> = {}) => goodReport({ attemptId: ATTEMPT, threadId: null }, change);
const byUser = { actor: 'ada', reason: 'enough', cause: 'user' } as const;
const byDeadline = { actor: 'deadline', reason: 'deadline reached', cause: 'deadline' } as const;
const stoppedReport = report({ outcome: 'stopped', code: 'user_stopped', error: 'the run was stopped' });
const stopping = (request: typeof byUser | typeof byDeadline) => requestStop(running(), request, AT);
const failed = report({ outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
const lost = report({
  outcome: 'interrupted_owner',
  code: 'interrupted_owner',
  error: 'gone',
  warnings: ['gone', 'pid 4 is dead'],
});

describe('the one invocation', () => {
  it('is counted before it is made, and never begun twice (DT-1, DT-4)', () => {
    expect(running()).toMatchObject({ status: 'running', invocationCount: 1, handle: { attemptId: ATTEMPT } });
    expect(() => begin(running(), ATTEMPT, AT)).toThrow(/once/);
    expect(() => begin({ ...fresh(), invocationCount: 1 }, ATTEMPT, AT)).toThrow(/once/);
  });
});

describe('the end of a direct task', () => {
  it.each<[string, [DirectTask, RunReport], Partial<DirectTask>]>([
    ['completed', [running(), report()], { status: 'completed', error: null, result: { text: 'done', bytes: 4 } }],
    ['failed', [running(), failed], { status: 'failed', code: 'RUN_FAILED', error: 'no luck' }],
    ['stopped from outside', [running(), stoppedReport], { status: 'stopped', error: null }],
    ['failed after a stop', [stopping(byUser), failed], { status: 'stopped', code: null, error: null }],
    ['completed after a stop', [stopping(byUser), report()], { status: 'stopped', error: null }],
    [
      'stopped by its deadline',
      [stopping(byDeadline), stoppedReport],
      { status: 'failed', code: 'deadline_reached', error: 'deadline reached' },
    ],
    ['stopped before its deadline', [requestStop(stopping(byUser), byDeadline, AT), failed], { status: 'stopped' }],
  ])('is what it was when it %s (DT-13, DT-18, DT-19, DT-20)', (_, [task, given], expected) => {
    const ended = settle(task, given, AT);
    expect(ended).toMatchObject({ ...expected, invocationCount: 1, endedAt: given.endedAt, updatedAt: given.endedAt });
  });

  it('takes the count back only on proof that nothing was started (DT-4, DT-5)', () => {
    const nothing = { spawns: 0, exit: null, startedAt: null };
    expect(settle(running(), report({ ...failed, ...nothing }), AT).invocationCount).toBe(0);
    expect(settle(running(), report({ ...failed, ...nothing, code: 'spawn_failed' }), AT).invocationCount).toBe(1);
    expect(settle(running(), report({ ...failed, spawns: 0 }), AT).invocationCount).toBe(1);
    expect(settle(running(), report({ ...lost, ...nothing }), AT).invocationCount).toBe(1);
  });

  it('bounds what others said', () => {
    const warnings = Array.from({ length: 200 }, () => 'w'.repeat(5_000));
    const task = settle(running(), report({ outcome: 'failed', error: 'e'.repeat(100_000), warnings }), AT);
    expect(task.error).toHaveLength(4_000);
    expect(JSON.stringify(task.warnings).length).toBeLessThan(60_000);
  });
});

describe('a stop', () => {
  it('ends at once what nothing runs for (DT-26)', () => {
    expect(requestStop(fresh(), byUser, AT)).toMatchObject({ status: 'stopped', invocationCount: 0, endedAt: AT });
    expect(requestStop(fresh(), byDeadline, AT)).toMatchObject({ status: 'failed', code: 'deadline_reached' });
  });

  it('sets its mark and `stopping` before it acts; the first one stays (DT-24, DT-25)', () => {
    const stopping = requestStop(running(), byUser, AT);
    expect(stopping).toMatchObject({ status: 'stopping', stop: { actor: 'ada', at: AT } });
    expect(requestStop(stopping, { ...byUser, actor: 'bob' }, AT)).toBe(stopping);
  });

  it.each(['stopped', 'completed', 'failed'] as const)('leaves one that is %s as it was (DT-23)', (status) => {
    const task = { ...running(), status };
    expect(requestStop(task, byUser, AT)).toBe(task);
  });

  it('of a lost one is confirmed by its host (DT-30)', () => {
    const stopping = requestStop(settle(running(), lost, AT), byUser, AT);
    expect(stopping.status).toBe('stopping');
    expect(confirmStop(stopping, AT)).toMatchObject({ status: 'stopped', error: null, incidents: [{ decidedAt: AT }] });
    expect(confirmStop(running(), AT).status).toBe('running');
  });
});

describe('a lost executor', () => {
  it('leaves the task to a person, with its evidence (DW-4)', () => {
    const task = settle(running(), lost, AT);
    expect(task).toMatchObject({ status: 'recovery_required', code: 'interrupted_owner', endedAt: null });
    expect(task.incidents).toMatchObject([{ subject: ATTEMPT, evidence: ['gone', 'pid 4 is dead'], decidedAt: null }]);
  });

  it('is judged once; one that is not lost cannot be', () => {
    const accept = { decision: 'accept', actor: 'ada', note: null } as const;
    const abandon = { ...accept, decision: 'abandon' } as const;
    const accepted = decide(settle(running(), lost, AT), accept, AT);
    expect(accepted).toMatchObject({ status: 'completed', code: null, decision: accept, endedAt: AT });
    expect(decide(accepted, abandon, AT)).toBe(accepted);
    expect(decide(running(), abandon, AT).status).toBe('running');
  });

  it('is no word about a bookkeeping failure, which never changes the status (RQ-8)', () => {
    const ended = settle(running(), report(), AT);
    const note = { code: 'receipt_storage_failed', at: AT, evidence: ['disk full'] } as const;
    expect(noteRecovery(ended, { ...note, evidence: [...note.evidence] })).toEqual({ ...ended, recoveryNote: note });
  });
});
