import type { DirectTask } from '../../../contract/direct';
import { newDirectTask } from '../../../contract/new-direct';
import { mergeAdoption, type Adoption } from '../../../workflows/direct-task/adoption';
import { begin } from '../../../workflows/direct-task/state';
import { newDirect } from '../../helpers/direct';

const fresh = newDirectTask(
  newDirect({ id: 'D-1', deadlineAt: '2026-02-01T00:00:00.000Z', createdAt: '2026-01-15T00:00:00.000Z' }),
);
const metadata = begin(fresh, '01a00000-0000-8000-a000-000000000001', '2026-01-15T00:00:01.000Z');
const stop = { at: metadata.updatedAt, actor: 'ada', reason: '', cause: 'user' } as const;

const adoption = (
  change: Partial<Omit<Adoption, 'snapshot'>> & { snapshot?: Partial<Adoption['snapshot']> } = {},
): Adoption => ({
  handle: { taskId: 'D-1', worktree: '/bound' },
  worker: 'running',
  ...change,
  snapshot: { id: 'D-1', state: 'running', stopRequested: false, metadata, ...change.snapshot },
});
const adopted = (known: DirectTask | null, change: Parameters<typeof adoption>[0] = {}) =>
  mergeAdoption(known, adoption(change)) as DirectTask;

describe('adoption', () => {
  it.each([
    ['another snapshot', { snapshot: { id: 'D-2' } }],
    ['metadata of another task', { snapshot: { metadata: { ...metadata, id: 'D-2' } } }],
    ['a handle of another task', { handle: { taskId: 'D-2', worktree: '/bound' } }],
  ])('refuses %s (DW-7)', (_, change) => {
    expect(mergeAdoption(null, adoption(change))).toMatchObject({
      success: false,
      code: 'direct_snapshot_unavailable',
    });
  });

  it('makes a task that can never be started, from the handle and the registered snapshot (DW-6, DW-9)', () => {
    const task = adopted(null, { snapshot: { metadata: fresh } });
    expect(task).toMatchObject({ invocationCount: 1, repositoryPath: '/bound', status: 'running', stop: null });
    expect(task.deadlineAt).toBe(fresh.deadlineAt);
    expect(() => begin(task, '01a00000-0000-8000-a000-000000000002', fresh.createdAt)).toThrow(/once/);
  });

  it('uses the task that is known already (DW-8)', () => {
    const known = { ...metadata, warnings: ['known'] };
    expect(adopted(known)).toMatchObject({ warnings: ['known'], repositoryPath: known.repositoryPath });
  });

  it.each<[string, [boolean, boolean], Parameters<typeof adoption>[0]]>([
    ['the snapshot says so', [true, true], { snapshot: { stopRequested: true } }],
    ['the worker is stopping', [true, true], { worker: 'stopping' }],
    ['its registered state is `stopped`', [true, false], { snapshot: { state: 'stopped' } }],
    ['nothing says so', [false, false], {}],
  ])('has a stop when %s: made anew and known %j (DW-9, DW-10)', (_, [isNew, isKnown], change) => {
    expect(adopted(null, change).stop !== null).toBe(isNew);
    expect(adopted(metadata, change).stop !== null).toBe(isKnown);
  });

  it('never takes a stop back that a known task has (DW-10)', () => {
    expect(adopted({ ...metadata, stop }, { worker: 'running' })).toMatchObject({ stop, status: 'stopping' });
  });

  it.each<[Adoption['worker'], boolean, DirectTask['status']]>([
    ['running', false, 'running'],
    ['running', true, 'stopping'],
    ['stopping', false, 'stopping'],
    ['recovery_required', false, 'recovery_required'],
    ['recovery_required', true, 'stopping'],
    ['completed', false, 'running'],
    ['completed', true, 'running'],
  ])('of a worker that is %s, with a stop: %s, gives %s (DW-11)', (worker, stopRequested, expected) => {
    expect(adopted(null, { worker, snapshot: { stopRequested } }).status).toBe(expected);
  });
});
