import { taskStatus, type Task } from '../../../contract/task';
import { settle, notOrphaned } from '../../../workflows/task-record/settling';
import { notDispatchable } from '../../../workflows/task-record/dispatching';
import { goodReport } from '../../helpers/fake-host';
import { AT, carriedWith, dispatch, taken, THREAD } from './steps';

const begun = (change: Partial<Task>) => {
  const { carried, answer } = taken(dispatch(carriedWith(change)));
  return { carried, answer, threadId: carried.attempts.at(-1)?.threadId };
};
const bound = (status: Task['status']) => ({ status, context: { thread_id: THREAD } });

describe('a dispatch', () => {
  it.each([
    ['pending', 'start'],
    ['interrupted', 'resume'],
    ['failed', 'retry'],
  ] as const)('of a task that is %s is a %s (DS1)', (status, mode) => {
    expect(begun({ status })).toMatchObject({
      answer: { success: true, mode },
      carried: { task: { status: 'in_progress' } },
    });
  });

  it('says what can be dispatched, what the task is, and what each would do (DS4, DS5)', () => {
    const refusal = dispatch(carriedWith({ id: 'T-1', status: 'in_progress' }));
    expect(refusal).toMatchObject({ success: false, code: 'TASK_NOT_DISPATCHABLE', taskId: 'T-1' });
    const { error, hint } = refusal as { error: string; hint: string };
    for (const status of ['pending', 'interrupted', 'failed', 'completed', 'cancelled'])
      expect(error).toContain(status);
    for (const word of ['is in_progress', 'start', 'resume', 'retr', 'reopen', 'living executor']) {
      expect(hint).toContain(word);
    }
  });

  it.each(taskStatus.options)(
    'that is refused at %s may succeed later only while a run may settle (DS18 (P))',
    (status) => {
      expect(notDispatchable(carriedWith({ status }).task).retryable).toBe(status === 'in_progress');
    },
  );

  it('of a task in review is refused until the reviewer has decided (DS19 (P), RV5)', () => {
    const refusal = dispatch(carriedWith({ status: 'review' }));
    expect(refusal).toMatchObject({ code: 'TASK_IN_REVIEW', hint: expect.stringMatching(/decision/) as unknown });
  });

  it.each([
    ['pending', 'AGENT_TASK_REQUIRED'],
    ['interrupted', 'AGENT_TASK_REQUIRED'],
    ['failed', 'AGENT_TASK_REQUIRED'],
    ['in_progress', 'TASK_NOT_DISPATCHABLE'],
    ['review', 'TASK_IN_REVIEW'],
    ['completed', 'TASK_TERMINAL'],
    ['cancelled', 'TASK_TERMINAL'],
  ] as const)(
    'of a task of a person that is %s is refused as %s, and judges no executor (DS3, DS20 (P), OR1, OR13)',
    (status, code) => {
      const carried = carriedWith({ status, ownerType: 'user', ownerId: 'ada' });
      expect(dispatch(carried)).toMatchObject({ success: false, code });
      expect(notOrphaned(carried)).toMatchObject({ code: 'TASK_STATUS_CONFLICT' });
    },
  );

  it('judges no executor of a task that a project manages (OR1, OR12, MA6)', () => {
    const managed = carriedWith({ status: 'in_progress', metadata: { projectId: 'P' } });
    expect(notOrphaned(managed)).toMatchObject({ code: 'TASK_STATUS_CONFLICT' });
    expect(notOrphaned(carriedWith({ status: 'in_progress' }))).toBeNull();
  });

  it('takes an agent that exists, and writes nothing for another one (DS16, DS17 (P), RN11 (P))', () => {
    const carried = carriedWith({ ownerId: 'ada' });
    const refusal = dispatch(carried, { agentId: 'nobody' });
    expect(refusal).toMatchObject({ success: false, code: 'AGENT_NOT_FOUND', retryable: false });
    expect(refusal).not.toHaveProperty('carried');
    expect(taken(dispatch(carried, { agentId: 'general-purpose' })).answer).toMatchObject({ success: true });
  });

  it.each(['interrupted', 'failed'] as const)('of a task that is %s goes on in its thread (RN1, RN10)', (status) => {
    const { threadId, carried } = begun(bound(status));
    expect(threadId).toBe(THREAD);
    expect(carried.task.context.thread_id).toBe(THREAD);
  });

  it.each(['', '  ', 17, null])('of a failed task whose thread is %j gets a fresh one (RN3, TR5)', (thread) => {
    const { threadId, carried } = begun({ status: 'failed', context: { thread_id: thread } });
    expect(threadId).toBeNull();
    expect(carried.task.context).not.toHaveProperty('thread_id');
  });

  it('of a pending task gets a fresh thread, whatever is stored (RN2)', () => {
    expect(begun(bound('pending')).threadId).toBeNull();
  });

  it('moves the task to the agent that it names, and keeps the rest (RN5)', () => {
    const { carried } = begun({ ownerId: 'ada', context: { colour: 'red' } });
    expect(carried.task).toMatchObject({ ownerId: 'general-purpose', context: { colour: 'red' } });
    expect(carried.attempts.at(-1)).toMatchObject({ agentId: 'general-purpose' });
  });

  it('names its run in the record, and the run stays there after its end (RN10, RN12 (P))', () => {
    const { carried } = begun({});
    const attempt = carried.attempts[0];
    if (attempt === undefined) throw new Error('there is no attempt');
    expect(carried.task.context.run_id).toBe(attempt.attemptId);
    const { task } = settle(carried, goodReport(attempt, { threadId: THREAD }), AT);
    expect(task.context).toMatchObject({ run_id: attempt.attemptId, thread_id: THREAD });
  });
});
