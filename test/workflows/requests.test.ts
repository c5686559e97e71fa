import { addActivityUpdate, taskQuery, updateUpdate, type Note, type TaskUpdate } from '../../contract/task';
import { codeOf, Stage } from '../helpers/stage';

describe('requests', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  it('answers a repeated request id with the first outcome, over phases and without a second effect (GN10 (P))', async () => {
    const task = await stage.create();
    const args: [Note] = [{ requestId: 'R1', summary: 'only once' }];
    const first = await task.executeUpdate(addActivityUpdate, { args });
    await stage.settle(task);
    expect(await task.executeUpdate(addActivityUpdate, { args })).toEqual(first);
    const notes = (await task.query(taskQuery)).activities.filter(({ detail }) => detail.type === 'note');
    expect(notes).toHaveLength(1);
  });

  it('starts one run for a dispatch that is sent twice with one request id (GN10 (P), DS12)', async () => {
    const task = await stage.create();
    const send = () => stage.dispatch(task, { requestId: 'D1' });
    const [first, second] = await Promise.all([send(), send()]);
    expect(second).toEqual(first);
    await stage.settled(task, first.attemptId);
    expect(await send()).toEqual(first);
    expect((await stage.lastAttempt(task)).number).toBe(1);
  });

  it('refuses a request id that was used with other content (GN10 (P))', async () => {
    const task = await stage.create();
    await task.executeUpdate(addActivityUpdate, { args: [{ requestId: 'R1', summary: 'this' }] });
    const other = task.executeUpdate(addActivityUpdate, { args: [{ requestId: 'R1', summary: 'that' }] });
    expect(await codeOf(other)).toBe('REQUEST_CONFLICT');
  });

  it('refuses a status inside an update with a code of its own and changes nothing (MT9, TS11)', async () => {
    const task = await stage.create();
    const before = await task.query(taskQuery);
    const update = { title: 'x', status: 'completed' } as TaskUpdate;
    expect(await codeOf(task.executeUpdate(updateUpdate, { args: [update] }))).toBe('STATUS_NOT_UPDATABLE');
    expect(await task.query(taskQuery)).toEqual(before);
  });

  it.each<[string, unknown]>([
    ['an unknown field', { colour: 'red' }],
    ['a wrong type', { title: 7 }],
    ['a title over 1,000 characters', { title: 'x'.repeat(1_001) }],
    ['a NUL character', { description: 'a\u0000b' }],
    ['half a surrogate pair', { description: 'a\ud800b' }],
    ['a description over 256 KiB', { description: 'x'.repeat(256 * 1024 + 1) }],
    ['nothing at all', undefined],
  ])('refuses %s and changes nothing (GN9 (P))', async (_, update) => {
    const task = await stage.create();
    const before = await task.query(taskQuery);
    expect(await codeOf(task.executeUpdate(updateUpdate, { args: [update as TaskUpdate] }))).toBe('INVALID_ARGUMENT');
    expect(await task.query(taskQuery)).toEqual(before);
  });

  it('refuses a task with bad input at its start and leaves no open workflow', async () => {
    await expect((await stage.create({ title: '  ' })).result()).rejects.toMatchObject({
      cause: { type: 'INVALID_ARGUMENT' },
    });
  });
});
