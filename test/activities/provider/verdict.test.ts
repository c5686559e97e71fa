import { noEvents, type RunEvents } from '../../../activities/provider/event-reducer';
import type { ExitRecord } from '../../../activities/provider/run-directory';
import { judgeRun, type RunTraces } from '../../../activities/provider/verdict';

const A = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf610';
const B = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf611';
const START = { mode: 'start', threadId: null } as const;
const RESUME = { mode: 'resume', threadId: A } as const;

const ended = (exact: Partial<ExitRecord> = {}): ExitRecord => ({
  code: 0,
  signal: null,
  startedAt: '2026-11-29T16:00:00.000Z',
  endedAt: '2026-11-29T16:01:00.000Z',
  reason: null,
  stopReason: null,
  forced: false,
  strays: 0,
  spawnError: null,
  ...exact,
});
const completed: Partial<RunEvents> = { threadIds: [A], terminal: { kind: 'completed' }, events: 3 };
const begun: Partial<RunEvents> = { threadIds: [A], events: 2 };

function traces(exit: ExitRecord | null, events: Partial<RunEvents> = {}, exact: Partial<RunTraces> = {}): RunTraces {
  const all = { ...noEvents(), ...events };
  return {
    exit,
    stop: null,
    events: all,
    oversized: 0,
    printed: all.events * 50,
    resultAt: all.events * 50,
    stderr: '',
    isInterrupted: false,
    ...exact,
  };
}
const refused = (stderr: string): RunTraces => traces(ended({ code: 1 }), {}, { stderr });

describe('verdict on a run', () => {
  it.each<[string, RunTraces]>([
    ['a whole run', traces(ended(), completed)],
    ['one that was stopped too late', traces(ended(), completed, { stop: 'user' })],
    ['one that was over before the signal', traces(ended({ reason: 'stop', stopReason: 'user' }), completed)],
    ['a result in the events of a runner that died', traces(null, completed)],
  ])('is completed for %s', (_what, run) => {
    expect(judgeRun(run, START)).toEqual({ outcome: 'completed', code: null, error: null });
  });

  it.each<[string, RunTraces]>([
    ['that ended by itself', traces(ended({ code: 1 }), begun, { isInterrupted: true })],
    [
      'with words of an earlier error',
      traces(ended({ code: 1 }), { ...begun, lastError: 'lost' }, { isInterrupted: true }),
    ],
    ['whose runner had died', traces(null, begun, { isInterrupted: true })],
  ])('is a stop by the user for an interrupted turn %s (US-13)', (_what, run) => {
    const error = 'the user interrupted the provider';
    expect(judgeRun(run, START)).toEqual({ outcome: 'stopped', code: 'user_stopped', error });
  });

  it('is of the thread that was asked for also where its turn was interrupted (US-13, CX-16)', () => {
    const other = traces(ended({ code: 1 }), { ...begun, threadIds: [B] }, { isInterrupted: true });
    expect(judgeRun(other, RESUME)).toMatchObject({ outcome: 'failed', code: 'thread_mismatch' });
  });

  it.each<[string, string, RunTraces]>([
    ['usage_error', 'exit 2', traces(ended({ code: 2 }), {}, { stderr: "error: unexpected argument '-C'\n" })],
    ['provider_exited', 'silence and exit 1', refused('Error: bad config\n')],
    ['provider_exited', 'silence and exit 0', traces(ended())],
    ['output_unreadable', 'noise only', traces(ended(), { unreadable: 4 }, { printed: 90 })],
    ['output_limit', 'the limit of the runner', traces(ended({ code: 1, reason: 'output_limit' }), begun)],
    ['output_limit', 'a result hidden by a long line', traces(ended(), begun, { oversized: 1 })],
    ['output_limit', 'one endless line', traces(ended(), {}, { oversized: 1, printed: 9e8 })],
    ['killed_by_signal', 'a signal from outside', traces(ended({ code: null, signal: 'SIGKILL' }), begun)],
    [
      'killed_by_signal',
      'the end of the runner',
      traces(ended({ code: 1, reason: 'stop', stopReason: 'terminated' }), begun),
    ],
    ['time_budget', 'the deadline', traces(ended({ code: 1, reason: 'deadline' }), begun)],
    ['inactive', 'silence', traces(ended({ code: 1, reason: 'stop', stopReason: 'inactive' }), begun)],
    ['start_deadline', 'no thread', traces(ended({ code: 1, reason: 'stop', stopReason: 'start_deadline' }))],
    ['outcome_missing', 'exit 0 without a result', traces(ended(), begun)],
    ['outcome_missing', 'exit 1 without a word', traces(ended({ code: 1 }), begun)],
    [
      'RUN_FAILED',
      'a failed turn',
      traces(ended({ code: 1 }), { ...begun, terminal: { kind: 'failed', message: 'x' } }),
    ],
    [
      'RUN_FAILED',
      'exit 1 after notices (P08)',
      traces(ended({ code: 1 }), { ...begun, lastError: 'Reconnecting... 5/5' }),
    ],
    ['RUN_FAILED', 'exit 1 after a result', traces(ended({ code: 1 }), completed, { stderr: 'Error: disk full' })],
    ['thread_missing', 'a result without a thread', traces(ended(), { ...completed, threadIds: [] })],
    ['thread_ambiguous', 'two threads', traces(ended(), { ...completed, threadIds: [A, B] })],
    [
      'spawn_failed',
      'no program',
      traces(ended({ code: null, spawnError: { code: 'ENOENT', message: '', subject: 'command' } })),
    ],
    [
      'workspace_missing',
      'no workspace',
      traces(ended({ code: null, spawnError: { code: 'ENOENT', message: '', subject: 'workspace' } })),
    ],
  ])('is %s for %s', (code, _what, run) => {
    expect(judgeRun(run, START)).toMatchObject({ outcome: 'failed', code });
  });

  it.each<[string, RunTraces]>([
    ['session_not_found', refused('Error: thread/resume failed: no rollout found for thread id 01a2')],
    ['session_not_found', refused('Error: session 01a2 was not found')],
    ['session_not_found', refused('error: could not find conversation 01a2')],
    ['session_not_found', refused('No such thread: 01a2')],
    ['thread_archived', refused('Error: session 01a2 is archived. Run `codex unarchive 01a2` to restore')],
    ['thread_empty', refused('Error: rollout at /x is empty')],
    [
      'thread_unreadable',
      refused('Error: thread/resume failed: final paginated rollout record at /x.jsonl is missing an ordinal'),
    ],
    ['thread_unreadable', refused('Error: rollout at /x.jsonl does not start with session metadata')],
    ['credentials_invalid', refused('Error: your refresh token was already used. Please log out and sign in again.')],
    ['THREAD_BUSY', refused('Error: thread 01a2 already has an active writer')],
    ['provider_exited', refused('Error: something else')],
    ['thread_mismatch', traces(ended(), { ...completed, threadIds: [B] })],
    ['thread_ambiguous', traces(ended(), { ...completed, threadIds: [A, B] })],
  ])('is %s for a resume (CX-16, CX-17, P11)', (code, run) => {
    expect(judgeRun(run, RESUME)).toMatchObject({ outcome: 'failed', code });
  });

  it.each([
    ['usage_limit', 'You’ve hit your usage limit. Try again later.'],
    ['credentials_invalid', 'unexpected status 401 Unauthorized: Incorrect API key provided'],
    ['thread_unusable', 'No tool output found for function call call_1.'],
  ])('is %s when the turn failed of it, or hung after saying so (P19, P21, P26)', (code, message) => {
    const turn = traces(ended({ code: 1 }), { ...begun, terminal: { kind: 'failed', message } });
    expect(judgeRun(turn, RESUME)).toEqual({ outcome: 'failed', code, error: message });
    expect(judgeRun(traces(ended({ code: 1 }), { ...begun, lastError: message }), START).code).toBe(code);
    const hung = traces(ended({ code: 1, reason: 'stop', stopReason: 'inactive' }), { ...begun, fatalError: message });
    expect(judgeRun(hung, START).code).toBe(code);
    const recovered = traces(ended(), { ...completed, lastError: message });
    expect(judgeRun(recovered, START).outcome).toBe('completed');
  });

  it('is no success when every command failed for want of a sandbox (P25)', () => {
    const run = (commands: number, sandboxFailures: number) =>
      judgeRun(traces(ended(), { ...completed, commands, sandboxFailures }), START).code;
    expect([run(3, 3), run(3, 2), run(0, 0)]).toEqual(['sandbox_unavailable', null, null]);
  });

  it('is stopped when the provider was ended for a user (US-4)', () => {
    const stop = traces(ended({ code: 1, reason: 'stop', stopReason: 'user' }), begun, { stop: 'user' });
    expect(judgeRun(stop, START)).toMatchObject({ outcome: 'stopped', code: 'user_stopped' });
  });

  it('is interrupted_owner when the runner died without a word, with what was last said (DF row 5)', () => {
    const run = traces(null, { ...begun, lastError: 'E-CANARY' });
    expect(judgeRun(run, START)).toMatchObject({ outcome: 'interrupted_owner', code: 'interrupted_owner' });
    expect(judgeRun(run, START).error).toContain('E-CANARY');
    expect(judgeRun({ ...run, stop: 'user' }, START)).toMatchObject({ outcome: 'stopped' });
  });

  it('names the last error of a provider that fell silent (P06)', () => {
    const exit = ended({ code: 1, reason: 'stop', stopReason: 'inactive' });
    expect(judgeRun(traces(exit, { ...begun, lastError: 'E-CANARY' }), START).error).toContain('E-CANARY');
  });
});
