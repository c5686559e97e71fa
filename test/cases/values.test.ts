import { createTask, showTask, type Session } from '../../client/index';
import { updateUpdate, type TaskUpdate } from '../../contract/task';
import { LocalHome } from '../helpers/local-home';
import { replayAll } from '../helpers/replay';
import { codeOf, Stage } from '../helpers/stage';

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

describe('values in metadata and context', () => {
  let stage: Stage;
  let home: LocalHome;
  let session: Session;
  beforeAll(async () => {
    stage = await Stage.open();
    home = await LocalHome.make();
    session = await home.session(stage.server.address);
  });
  afterAll(async () => {
    await home.remove();
    await stage.close();
  });

  it.each<[string, unknown]>([
    ['a date', new Date(0)],
    ['undefined', undefined],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a BigInt', 2n],
    ['a map', new Map([['a', 1]])],
    ['a set', new Set([1])],
    ['an error', new Error('x')],
    ['a function', () => 1],
    ['a cyclic object', cyclic],
  ])('that JSON does not know, such as %s, are refused before anything is sent (P83)', async (_what, value) => {
    const metadata = { value } as unknown as Record<string, string>;
    expect(await createTask(session, { id: 'V-1', title: 'x', metadata })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await showTask(session, 'V-1')).toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it.each([
    ['zero below zero', '{"metadata":{"value":-0}}', 0],
    ['2 to the 53rd and one', '{"metadata":{"value":9007199254740993}}', 9007199254740992],
    ['an object', '{"metadata":{"value":{"a":[null,true,"x"]}}}', { a: [null, true, 'x'] }],
  ])('have one form, before and after a replay: %s (P83)', async (_what, json, value) => {
    const task = await stage.create();
    await task.executeUpdate(updateUpdate, { args: [JSON.parse(json) as TaskUpdate] });
    const before = await stage.record(task);
    expect(before.metadata).toEqual({ value });
    await stage.stopWorkers();
    await stage.startWorkers({ maxCachedWorkflows: 0 });
    expect(await stage.record(task)).toEqual(before);
  });

  it.each(['__proto__', 'constructor', 'prototype'])(
    'under the name %s are data or refused, and reach no prototype (P83)',
    async (name) => {
      const task = await stage.create();
      const update = JSON.parse(`{"metadata":{"${name}":{"polluted":"yes"}}}`) as TaskUpdate;
      const code = await codeOf(task.executeUpdate(updateUpdate, { args: [update] })).catch(() => null);
      const { metadata } = await stage.record(task);
      if (code === null) expect(JSON.stringify(metadata)).toBe(JSON.stringify(update.metadata));
      else expect(code).toBe('INVALID_ARGUMENT');
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
      expect((await stage.settle(task)).outcome).toBe('completed');
    },
  );

  it('leave histories that replay (P83)', async () => {
    expect((await replayAll(stage.client)).task).toBeGreaterThan(0);
  });
});
