import { invalidArgument } from '../../contract/failures';
import { directTaskSchema, isDeadlinePassed, newDirectTaskSchema } from '../../contract/direct';
import { newDirectTask } from '../../contract/new-direct';
import { directWorkflowId, parseDirectWorkflowId } from '../../contract/names';
import { newDirect } from '../helpers/direct';

const given = newDirect({ createdAt: '2026-01-01T00:00:00.000Z' });
const refusalOf = (change: object) => {
  const parsed = newDirectTaskSchema.safeParse({ ...given, ...change });
  return parsed.success ? null : invalidArgument(parsed.error).error;
};

describe('a new direct task', () => {
  it.each([
    ['an unknown permission mode (DT-11)', { permissionMode: 'root' }, /read-only, workspace-write, full-access/],
    ['full access that nobody allowed (DT-11)', { permissionMode: 'full-access' }, /--full-access/],
    ['an unknown operation', { operation: 'deploy' }, /implement, review, explain, test/],
    ['a blank instruction', { instruction: ' \n' }, /blank/],
    ['a NUL in the instruction', { instruction: 'a\u0000b' }, /NUL/],
    ['half a surrogate pair', { instruction: 'a\ud800b' }, /surrogate/],
    ['an instruction over 64 KiB', { instruction: 'x'.repeat(64 * 1024 + 1) }, /longer than 65536 bytes/],
    ['a relative repository', { repositoryPath: 'repo' }, /absolute/],
    ['an id that leaves its place', { id: '../x' }, /id/],
    ['a deadline that is no time', { deadlineAt: 'soon' }, /deadlineAt/],
    ['a deadline a year ahead', { deadlineAt: '2027-01-01T00:00:00.000Z' }, /30 days/],
    ['a limit of nothing', { limits: { timeMs: 0 } }, /limits.timeMs/],
    ['a field that nobody knows', { retries: 3 }, /retries|unrecognized/i],
  ])('is refused with %s', (_, change, why) => {
    expect(refusalOf(change)).toMatch(why);
  });

  it('takes full access when it is allowed, and 64 KiB of instruction', () => {
    expect(refusalOf({ permissionMode: 'full-access', allowFullAccess: true })).toBeNull();
    expect(refusalOf({ instruction: 'é'.repeat(32 * 1024) })).toBeNull();
  });

  it('knows a deadline that is over (DT-13)', () => {
    const at = (deadlineAt: string | null) => isDeadlinePassed({ ...given, deadlineAt });
    expect([at(null), at('2026-01-01T00:00:00.001Z'), at('2026-01-01T00:00:00.000Z')]).toEqual([false, false, true]);
  });

  it('is a whole snapshot, which says that its account was not verified (DT-9)', () => {
    const task = newDirectTask(given);
    expect(directTaskSchema.parse(task)).toEqual(task);
    expect(task).toMatchObject({ status: 'queued', invocationCount: 0, handle: null });
    expect(task.identity).toMatchObject({ account: 'inherited-provider-environment', origin: 'perdure-direct' });
  });
});

describe('the workflow id of a direct task', () => {
  it('reads back, and is none of a task', () => {
    const key = { tenantId: 'default', taskId: 'D-1' };
    expect(parseDirectWorkflowId(directWorkflowId(key))).toEqual(key);
    expect(['task/default/D-1', 'direct/default', 'direct/a/b/c'].map(parseDirectWorkflowId)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
