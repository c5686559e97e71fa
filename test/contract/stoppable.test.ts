import { DIRECT_STATUSES } from '../../contract/direct';
import { canStop } from '../../contract/stoppable';

const handle = { attemptId: 'a' };

describe('whether a stop is offered (DT-23, DT-32)', () => {
  it.each([
    ['queued', true],
    ['running', true],
    ['stopping', true],
    ['stopped', false],
    ['completed', false],
    ['failed', false],
    ['recovery_required', false],
  ] as const)('for a direct task that is %s and has no handle: %s', (status, expected) => {
    expect(canStop({ status, handle: null }, 1)).toBe(expected);
    expect(canStop({ status }, 2)).toBe(expected);
  });

  it('for a lost one only by its handle, and only in the registry of direct tasks', () => {
    expect(canStop({ status: 'recovery_required', handle }, 1)).toBe(true);
    expect(canStop({ status: 'recovery_required', handle }, 2)).toBe(false);
  });

  it('in the first registry for everything that is not inactive', () => {
    const offered = [...DIRECT_STATUSES, 'something_new'].filter((status) => canStop({ status }, 0));
    expect(offered).toEqual(['queued', 'running', 'stopping', 'recovery_required', 'something_new']);
    expect(canStop({}, 0)).toBe(true);
    expect(canStop({}, 1)).toBe(false);
  });

  it('by the first name of the state that says something', () => {
    const view = { status: '', snapshot: { state: '' }, state: '', control_state: '', controlState: 'running' };
    expect(canStop(view, 1)).toBe(true);
    expect(canStop({ ...view, control_state: 'completed' }, 1)).toBe(false);
    expect(canStop({ ...view, control_state: 'completed', state: 'running' }, 1)).toBe(true);
    expect(canStop({ ...view, state: 'running', snapshot: { state: 'failed' } }, 1)).toBe(false);
    expect(canStop({ ...view, snapshot: { state: 'failed' }, status: 'queued' }, 1)).toBe(true);
  });
});
