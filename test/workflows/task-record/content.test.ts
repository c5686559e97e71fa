import { taskStatus, taskUpdateSchema, type TaskUpdate } from '../../../contract/task';
import { addActivity, updateTask } from '../../../workflows/task-record/commands';
import type { Carried } from '../../../contract/run';
import { AT, carriedWith, set, taken } from './steps';

const CONTENT: TaskUpdate = {
  title: 'Say good-bye',
  description: 'd',
  result: 'r',
  failureReason: 'f',
  priority: 'high',
  dueDate: '2027-01-01T00:00:00Z',
  requireReview: true,
  parentId: 'T-parent',
  dependencies: ['T-other'],
  sourceId: 's',
  ownerId: 'ada',
  files: [{ path: 'p', name: 'n' }],
  metadata: { module: 'm' },
  context: { colour: 'red' },
};
const update = (carried: Carried, change: TaskUpdate) => taken(updateTask(carried, taskUpdateSchema.parse(change), AT));

describe('the content of a task', () => {
  it('is these fields, and an update sets each (TR7)', () => {
    expect(update(carriedWith(), CONTENT).carried.task).toMatchObject({ ...CONTENT, status: 'pending' });
  });

  it('holds no status: an update with one is refused as a whole (TR7, TS11)', () => {
    expect(taskUpdateSchema.safeParse({ title: 'x', status: 'completed' }).success).toBe(false);
  });

  it.each(taskStatus.options)('and notes change in a task that is %s without changing that (TR8, TS10)', (status) => {
    const before = carriedWith({ status });
    const { carried } = update(before, CONTENT);
    expect(carried.task).toMatchObject({ status, statusSince: before.task.statusSince });
    const noted = taken(addActivity(carried, { actor: 'tester', summary: 'n' }, AT)).carried;
    expect(noted.task).toMatchObject({ status, statusSince: before.task.statusSince });
    expect(noted.task.activities).toHaveLength(3);
  });

  it('has its metadata replaced as a whole, and its context merged by key (TR11 (P))', () => {
    const before = carriedWith({ metadata: { a: 1 }, context: { a: 1 } });
    const { task } = update(before, { metadata: { b: 2 }, context: { b: 2 } }).carried;
    expect(task).toMatchObject({ metadata: { b: 2 }, context: { a: 1, b: 2 } });
    expect(task.metadata).not.toHaveProperty('a');
  });

  it.each(['update', 'note', 'completed'])(
    'keeps the result id of a %s, with a warning for an unknown one (TR10 (P), SR8)',
    (kind) => {
      const carried = carriedWith({ status: 'in_progress' });
      const executionResultId = 'result:nobody';
      const perform = {
        update: () => update(carried, { title: 'x', executionResultId }),
        note: () => taken(addActivity(carried, { actor: 'a', summary: 'n', executionResultId }, AT)),
        completed: () => taken(set(carried, { status: 'completed', result: 'r', executionResultId })),
      }[kind];
      const done = perform?.();
      expect(done?.answer.warnings).toEqual([expect.stringContaining(executionResultId)]);
      expect(done?.carried.task.activities.at(-1)).toMatchObject({ executionResultId });
    },
  );
});
