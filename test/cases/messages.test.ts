import type { WorkflowHandle } from '@temporalio/client';
import { addActivityUpdate } from '../../contract/task';
import { goodReport } from '../helpers/fake-host';
import { Stage } from '../helpers/stage';

describe('a note to a task', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  beforeEach(() => {
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
  });
  afterAll(() => stage.close());

  const note = (task: WorkflowHandle, summary: string) =>
    task.executeUpdate(addActivityUpdate, { args: [{ summary }] });
  /** How often each turn of a task was told of each note. */
  const told = (task: WorkflowHandle, notes: string[]) => {
    const id = task.workflowId.split('/').at(-1);
    const messages = stage.host.orders.filter((order) => order.task.taskId === id).map(({ message }) => message);
    return notes.map((summary) => messages.map((message) => Number(message.split('\n').includes(summary))));
  };

  it('is given to exactly one turn: the next that begins (P117)', async () => {
    const task = await stage.create();
    await stage.settle(task);
    await note(task, 'between two turns');
    const order = await stage.hold(task);
    await note(task, 'in mid-turn');
    await stage.stopWorkers();
    await stage.startWorkers();
    await note(task, 'after the worker came back');
    stage.host.release(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
    await stage.settled(task, order.attemptId);
    stage.host.run = (next) => goodReport(next, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
    await stage.settle(task);
    await stage.settle(task);
    expect(told(task, ['between two turns', 'in mid-turn', 'after the worker came back'])).toEqual([
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 1, 0],
    ]);
  });

  it('is given to the first turn when it came before that (P117)', async () => {
    const task = await stage.create();
    await note(task, 'before the first');
    await stage.settle(task);
    await stage.settle(task);
    expect(told(task, ['before the first'])).toEqual([[1, 0]]);
  });

  it('is not given twice when a reopening came in between (P117)', async () => {
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order);
    await stage.settle(task);
    await note(task, 'early');
    await stage.settle(task, { completion: 'criteria' });
    await note(task, 'late');
    await stage.settle(task);
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'no luck' });
    await stage.settle(task);
    await stage.settle(task);
    expect(told(task, ['early', 'late'])).toEqual([
      [0, 1, 0, 0, 0],
      [0, 0, 1, 0, 0],
    ]);
  });

  it('among five hundred is in the record, and given to the next turn or said to be left out (P117)', async () => {
    const task = await stage.create();
    await stage.settle(task);
    const notes = Array.from({ length: 500 }, (_, serial) => `note ${serial}.`);
    for (const summary of notes) await note(task, summary);
    await stage.settle(task);
    const told = stage.host.orders.at(-1)?.message ?? '';
    const missing = notes.filter((summary) => !told.split('\n').includes(summary));
    const said = /(\d+) (earlier|more|older) notes/.exec(told)?.[1];
    expect(missing.length === 0 ? '0' : said).toBe(String(missing.length));
  });
});
