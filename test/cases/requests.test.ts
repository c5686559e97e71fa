import { randomUUID } from 'node:crypto';
import { Connection, Client, type WorkflowHandle } from '@temporalio/client';
import { noteTask, setTaskStatus, type Session } from '../../client/index';
import { valueOf } from '../../client/outcome';
import { GRPC, grpcStatus } from '../../client/temporal-failure';
import { addActivityUpdate, type ActivityEntry } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { LocalHome } from '../helpers/local-home';
import { idOf, Stage } from '../helpers/stage';

/** What the server takes in one run of a workflow: much less than by default. */
const UPDATES = 100;
const NOTES = 150;
const AT_ONCE = 30;

let stage: Stage;
let home: LocalHome;
let session: Session;
beforeAll(async () => {
  stage = await Stage.open({ settings: [`history.maxTotalUpdates=${UPDATES}`] });
  home = await LocalHome.make();
  session = await home.session(stage.server.address);
});
afterAll(async () => {
  await home.remove();
  await stage.close();
});

const note = (task: WorkflowHandle, serial: number) => noteTask(session, idOf(task), { summary: `note ${serial}` });

/** The notes of a task, those that were moved to the store included, in their order. */
async function notesOf(task: WorkflowHandle): Promise<string[]> {
  const moved = await stage.store.selectFrom('archive').selectAll().where('task', '=', task.workflowId).execute();
  const entries = [
    ...moved.map(({ body }) => JSON.parse(body) as ActivityEntry),
    ...(await stage.record(task)).activities,
  ];
  const number = ({ id }: ActivityEntry) => Number(id.slice(2));
  const notes = entries.filter(({ detail }) => detail.type === 'note').sort((a, b) => number(a) - number(b));
  return notes.map(({ summary }) => summary);
}

const notes = (count: number) => Array.from({ length: count }, (_, serial) => `note ${serial}`);

/** Longer than the server tries by itself to take an update that is one too many, also on a busy machine. */
const REFUSAL_MS = 10_000;

/** Whether the server has as many updates of a task in hand as it takes: it refuses one more. */
async function isFull(task: WorkflowHandle): Promise<boolean> {
  const connection = await Connection.connect({ address: stage.server.address, interceptors: [] });
  const handle = new Client({ connection }).workflow.getHandle(task.workflowId);
  const extra = () => handle.executeUpdate(addActivityUpdate, { updateId: 'extra', args: [{ summary: 'extra' }] });
  try {
    await connection.withDeadline(Date.now() + REFUSAL_MS, extra);
    return false;
  } catch (error) {
    return grpcStatus(error)?.code === GRPC.resourceExhausted;
  } finally {
    await connection.close();
  }
}

describe('more requests than the server takes at once', () => {
  it('all wait for a worker that is away, and are answered when it is back (P55)', async () => {
    const task = await stage.create();
    await stage.record(task);
    await stage.stopWorkers();
    const sent = Array.from({ length: AT_ONCE }, (_, serial) => note(task, serial));
    try {
      await until(() => isFull(task));
    } finally {
      await stage.startWorkers();
    }
    const answers = await Promise.all(sent);
    expect(answers.filter(({ success }) => !success)).toEqual([]);
    const stored = (await notesOf(task)).filter((summary) => summary !== 'extra');
    expect([...stored].sort()).toEqual([...notes(AT_ONCE)].sort());
  });

  it('and than it takes in a run go on in the next one, in their order (P55)', async () => {
    const task = await stage.create();
    for (let serial = 0; serial < NOTES; serial += 1) valueOf(await note(task, serial));
    expect(await notesOf(task)).toEqual(notes(NOTES));
  });
});

describe('a request that is repeated', () => {
  const complete = (task: WorkflowHandle, requestId: string, result = 'done') =>
    setTaskStatus(session, idOf(task), { requestId, status: 'completed', result });

  it('has one effect and one answer: at once, afterwards, and when its workflow is closed (P56)', async () => {
    const task = await stage.create();
    await stage.settle(task);
    const requestId = randomUUID();
    const [first, ...more] = await Promise.all([1, 2, 3].map(() => complete(task, requestId)));
    expect(first).toMatchObject({ success: true, status: 'completed' });
    expect(more).toEqual([first, first]);
    expect(await complete(task, requestId)).toEqual(first);
    await task.terminate('closed');
    expect(await complete(task, requestId)).toEqual(first);
    const { activities } = await stage.record(task);
    expect(activities.filter(({ detail }) => detail.to === 'completed')).toHaveLength(1);
  });

  it('is refused when it asks something else (P56)', async () => {
    const task = await stage.create();
    await stage.settle(task);
    const requestId = randomUUID();
    valueOf(await complete(task, requestId));
    expect(await complete(task, requestId, 'other')).toMatchObject({ code: 'REQUEST_CONFLICT', retryable: false });
  });
});
