import { failure, FAILURES, invalidArgument } from '../../contract/failures';
import { parseTaskWorkflowId, taskWorkflowId } from '../../contract/names';
import { newTaskSchema } from '../../contract/task';

describe('names on the wire', () => {
  it('build and read back the workflow id of a task', () => {
    const key = { tenantId: 'default', taskId: 'T-42' };
    expect(taskWorkflowId(key)).toBe('task/default/T-42');
    expect(parseTaskWorkflowId('task/default/T-42')).toEqual(key);
  });

  it.each(['thread/codex/x', 'task/default', 'task/default/a/b', ''])('read nothing from %j', (workflowId) => {
    expect(parseTaskWorkflowId(workflowId)).toBeUndefined();
  });
});

describe('failures', () => {
  it.each(Object.keys(FAILURES))('%s says what to do', (code) => {
    const { hint } = failure(code as keyof typeof FAILURES, 'it happened');
    expect(hint).toMatch(/\S.*[.]$/);
  });

  it('name the first path that is wrong', () => {
    const parsed = newTaskSchema.safeParse({ id: 'T-1', title: 7 });
    if (parsed.success) throw new Error('it was accepted');
    expect(invalidArgument(parsed.error)).toMatchObject({ code: 'INVALID_ARGUMENT', success: false });
    expect(invalidArgument(parsed.error).error).toMatch(/^title /);
  });
});
