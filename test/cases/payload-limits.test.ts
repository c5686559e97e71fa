import { WorkflowUpdateFailedError } from '@temporalio/client';
import { createTask, noteTask, showTask, type Session } from '../../client/index';
import { valueOf } from '../../client/outcome';
import {
  addActivityUpdate,
  newTaskSchema,
  RECORD_BYTES,
  recordLength,
  setStatusUpdate,
  type NewTask,
  type StatusChange,
} from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { LocalHome } from '../helpers/local-home';
import { idOf, newTask, Stage } from '../helpers/stage';

const MB = 1_000_000;
const LINE = '界'.repeat(4_000);

/** A task that takes exactly so many bytes: the largest description, and files for the rest. */
function taskOf(bytes: number): NewTask {
  const given = newTask({ description: 'x'.repeat(256 * 1024), files: [] });
  const files: NonNullable<NewTask['files']> = [];
  const room = () => bytes - recordLength(newTaskSchema.parse({ ...given, files: [...files, { path: 'x' }] })) + 1;
  while (room() > 3_000) files.push({ path: room() > 13_000 ? LINE : 'x'.repeat(1_000) });
  files.push({ path: 'x'.repeat(room()) });
  return { ...given, files };
}

let stage: Stage;
let home: LocalHome;
let session: Session;
beforeAll(async () => {
  stage = await Stage.open();
  home = await LocalHome.make();
  session = await home.session(stage.server.address);
});
afterEach(() => {
  stage.host.run = (order) => goodReport(order);
});
afterAll(async () => {
  await home.remove();
  await stage.close();
});

describe('a request over the limit of a payload', () => {
  it('is refused at creation and leaves nothing behind (P50)', async () => {
    const refused = await createTask(session, { title: 'x', id: 'L-1', description: 'x'.repeat(3 * MB) });
    expect(refused).toMatchObject({ success: false, code: 'INVALID_ARGUMENT', retryable: false });
    expect(await showTask(session, 'L-1')).toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it('is refused as a note, and by the server when it comes past our client; the task goes on (P50)', async () => {
    const task = await stage.create();
    const summary = 'x'.repeat(3 * MB);
    expect(await noteTask(session, idOf(task), { summary })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const raw = task.executeUpdate(addActivityUpdate, { args: [{ summary }] });
    await expect(raw).rejects.not.toBeInstanceOf(WorkflowUpdateFailedError);
    expect((await stage.record(task)).activities).toHaveLength(1);
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('is never made of many notes of the largest size: later questions are answered (P50)', async () => {
    const task = await stage.create();
    for (let serial = 0; serial < 100; serial += 1) {
      valueOf(await noteTask(session, idOf(task), { summary: `${serial} ${'x'.repeat(16_000)}` }));
    }
    const { activities } = valueOf(await showTask(session, idOf(task))).task;
    expect(activities.at(-1)?.summary.slice(0, 3)).toBe('99 ');
    const moved = await stage.store.selectFrom('archive').selectAll().where('task', '=', task.workflowId).execute();
    expect(moved.length + activities.length).toBe(101);
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });
});

describe('a task of the largest size that is accepted', () => {
  it('is refused when it is one byte larger (P51)', () => {
    expect(recordLength(newTaskSchema.parse(taskOf(RECORD_BYTES)))).toBe(RECORD_BYTES);
    expect(newTaskSchema.safeParse(taskOf(RECORD_BYTES)).success).toBe(true);
    const { files = [], ...rest } = taskOf(RECORD_BYTES);
    expect(newTaskSchema.safeParse({ ...rest, files, sourceId: 'x' }).success).toBe(false);
  });

  it.each<[string, number, StatusChange]>([
    ['completed', 0, { status: 'completed', result: 'r'.repeat(16 * 1024) }],
    ['failed', 0, { status: 'failed', failureReason: 'r'.repeat(16 * 1024) }],
    ['cancelled', 0, { status: 'cancelled' }],
    ['completed', 1, { status: 'completed', result: 'r' }],
  ])('can be dispatched, and then %s (P51)', async (status, less, change) => {
    const task = await stage.create(taskOf(RECORD_BYTES - less));
    const text = 'x'.repeat(32 * 1024);
    stage.host.run = (order) => goodReport(order, { observation: { text, bytes: text.length } });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
    await task.executeUpdate(setStatusUpdate, { args: [change] });
    expect((await stage.record(task)).status).toBe(status);
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('can be stopped by a cancellation and ended by a termination of its workflow (P51)', async () => {
    const task = await stage.create(taskOf(RECORD_BYTES));
    const { attemptId } = await stage.hold(task);
    await task.cancel();
    expect(await stage.settled(task, attemptId)).toMatchObject({ outcome: 'stopped' });
    await task.terminate('enough');
    await until(async () => (await task.describe()).status.name === 'TERMINATED');
    expect(await stage.record(task)).toMatchObject({ status: 'interrupted' });
  });
});
