import { reopenSchema, type Carried, type Reopen } from '../../../contract/run';
import { taskStatus, type Task } from '../../../contract/task';
import { acceptReopen, reopenTask } from '../../../workflows/task-record/reopening';
import { AT, carriedWith, taken, THREAD } from './steps';

const OTHER = '0199aaaa-bbbb-7ccc-8ddd-000000000002';
const accept = (carried: Carried, reopen: Reopen = {}) =>
  acceptReopen(carried, reopenSchema.parse({ actor: 'tester', ...reopen }));
const reopened = (change: Partial<Task>, reopen: Reopen = {}): Task =>
  reopenTask(taken(accept(carriedWith({ status: 'completed', ...change }), reopen)).carried, { at: AT }).task;
const threadOf = (stored: string | undefined, reopen: Reopen) =>
  reopened({ context: stored === undefined ? {} : { thread_id: stored } }, reopen).context.thread_id;

describe('reopening', () => {
  it.each(taskStatus.options)('starts from terminal statuses alone, and %s is judged so (RO1)', (status) => {
    const step = accept(carriedWith({ status }));
    const isTerminal = status === 'completed' || status === 'cancelled';
    expect(step).toMatchObject(isTerminal ? { answer: { success: true } } : { code: 'TASK_STATUS_CONFLICT' });
  });

  it.each(['completed', 'cancelled'] as const)('of %s sets in_progress and clears the outcome (RO2, RO3)', (status) => {
    const task = reopened({ status, result: 'r', failureReason: 'f' });
    expect(task).toMatchObject({ status: 'in_progress', result: null, failureReason: null });
    expect(task.activities).toHaveLength(2);
    expect(task.activities.at(-1)).toMatchObject({ actor: 'tester', detail: { type: 'reopen' } });
  });

  it('keeps the stored thread by default (RO4)', () => {
    expect(threadOf(THREAD, {})).toBe(THREAD);
    expect(threadOf(THREAD, { threadId: OTHER })).toBe(THREAD);
  });

  it('replaces the stored thread by the one that it is given to replace it (RO5)', () => {
    expect(threadOf(THREAD, { threadId: OTHER, replaceThread: true })).toBe(OTHER);
  });

  it('binds a given thread where none is stored, and keeps one that nothing replaces (RO12 (P))', () => {
    expect(threadOf(undefined, { threadId: OTHER })).toBe(OTHER);
    expect(threadOf(undefined, { threadId: OTHER, replaceThread: true })).toBe(OTHER);
    expect(threadOf(THREAD, { replaceThread: true })).toBe(THREAD);
  });

  it('keeps everything else (RO7, TR9)', () => {
    const before = carriedWith({
      status: 'completed',
      description: 'd',
      parentId: 'T-parent',
      dependencies: ['T-other'],
      metadata: { module: 'm' },
      files: [{ path: 'f' }],
      context: { colour: 'red', thread_id: THREAD },
    });
    const after = reopenTask(taken(accept(before)).carried, { at: AT });
    const { status: _s, statusSince: _c, updatedAt: _u, activities, ...rest } = after.task;
    expect(before.task).toMatchObject(rest);
    expect(activities.slice(0, -1)).toEqual(before.task.activities);
    expect(after.attempts).toEqual(before.attempts);
  });

  it('of a task that no agent owns is refused (RO11)', () => {
    const refusal = accept(carriedWith({ status: 'completed', ownerType: 'user', ownerId: 'ada' }));
    expect(refusal).toMatchObject({ success: false, code: 'AGENT_TASK_REQUIRED' });
  });

  it('looks at no authority when nothing is run (RO10)', () => {
    expect(reopened({ metadata: { projectId: 'P' } }).status).toBe('in_progress');
  });
});
