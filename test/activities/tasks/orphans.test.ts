import { WorkflowNotFoundError } from '@temporalio/common';
import { createOrphanActivities } from '../../../activities/tasks/orphans';
import type { SeenRun, TaskServer } from '../../../activities/tasks/task-server';

const THREAD = '0199aaaa-bbbb-7ccc-8ddd-000000000001';
const order = { threadId: THREAD, task: { tenantId: 'default', taskId: 'T-1' } };
const run = (workflowId: string, status: string): SeenRun => ({
  workflowId,
  runId: 'r',
  status,
  type: 'resumeCodex',
  memo: {},
  closedAt: null,
});

/** Who holds the thread, as far as a server says it that answers these things. */
const holder = (answers: Pick<TaskServer, 'newest'> & Partial<TaskServer>): Promise<string | null> =>
  createOrphanActivities({ list: () => Promise.resolve([]), ...answers } as TaskServer).findThreadHolder(order);
const newest = (status: string) => ({ newest: (id: string) => Promise.resolve(run(id, status)) });

describe('the holder of a thread', () => {
  it('is an open execution of its lease, whether or not a worker polls for it (OR17 (P), OR18 (P), OR19 (P))', async () => {
    expect(await holder(newest('RUNNING'))).toContain(THREAD);
  });

  it.each(['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED', 'CANCELLED'])(
    'is nobody when the lease was closed as %s (OR18 (P))',
    async (status) => {
      expect(await holder(newest(status))).toBeNull();
    },
  );

  it('is nobody when there is no lease (OR18 (P))', async () => {
    const gone = new WorkflowNotFoundError('workflow not found for ID: x', 'x', undefined);
    expect(await holder({ newest: () => Promise.reject(gone) })).toBeNull();
  });

  it.each(['permission denied', 'deadline exceeded'])(
    'is not known when the server says %s (OR7, OR18 (P))',
    async (error) => {
      await expect(holder({ newest: () => Promise.reject(new Error(error)) })).rejects.toThrow(error);
      const list = () => Promise.reject(new Error(error));
      await expect(holder({ ...newest('COMPLETED'), list })).rejects.toThrow(error);
    },
  );

  it('is another task that runs on it, and never the task itself (OR5, OR17 (P))', async () => {
    const listing = (...ids: string[]) => ({ list: () => Promise.resolve(ids.map((id) => run(id, 'RUNNING'))) });
    const closed = newest('COMPLETED');
    expect(await holder({ ...closed, ...listing('task/default/T-1', 'task/default/T-2') })).toContain('T-2');
    expect(await holder({ ...closed, ...listing('task/default/T-1') })).toBeNull();
  });
});
