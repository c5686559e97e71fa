import type { WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { RunReport } from '../../contract/activities';
import { runSettledSignal } from '../../contract/project';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { ScriptedQueue } from '../helpers/scripted-queue';
import { idOf, Stage } from '../helpers/stage';
import { TimeSkippingServer } from '../helpers/time-skipping-server';

// The time-skipping server now and then loses a query that comes between two phases; what is counted stays exact.
jest.retryTimes(2);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The newest run and its length; a run that rolled over would be another one. */
async function lengthOf(handle: WorkflowHandle) {
  const { runId, historyLength, status } = await handle.describe();
  return { runId, historyLength, status: status.name };
}

/** Waits until a workflow has nothing to do: no task and no activity of it is under way. */
async function quiet(handle: WorkflowHandle): Promise<void> {
  await until(async () => {
    const { events } = await handle.fetchHistory();
    const count = (name: `${'workflow' | 'activity'}Task${'Scheduled' | 'Completed'}EventAttributes`) =>
      events?.filter((event) => event[name]).length;
    return (
      count('workflowTaskScheduledEventAttributes') === count('workflowTaskCompletedEventAttributes') &&
      count('activityTaskScheduledEventAttributes') === count('activityTaskCompletedEventAttributes')
    );
  });
}

/** Lets an hour and then 90 days pass over open workflows, and finds each as it was. */
async function expectIdle(server: TimeSkippingServer, ...handles: WorkflowHandle[]): Promise<void> {
  for (const handle of handles) await quiet(handle);
  const lengths = () => Promise.all(handles.map(lengthOf));
  const [began, before] = [await server.now(), await lengths()];
  expect(before.map(({ status }) => status)).toEqual(handles.map(() => 'RUNNING'));
  await server.skip(HOUR);
  expect(await lengths()).toEqual(before);
  await server.skip(90 * DAY);
  expect(await lengths()).toEqual(before);
  expect((await server.now()) - began).toBeGreaterThanOrEqual(90 * DAY + HOUR);
}

describe('an open task that nobody touches', () => {
  let server: TimeSkippingServer;
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open({ startServer: async () => (server = await TimeSkippingServer.start()) });
  });
  afterEach(() => stage.close());

  /** Runs a task once. While phases change only the server is asked: this one can lose a query that comes in between. */
  async function ran(report: Partial<RunReport>): Promise<WorkflowHandle> {
    stage.host.run = (order) => goodReport(order, report);
    const task = await stage.create();
    const { runId: first } = await task.describe();
    await stage.dispatch(task, { completion: 'criteria' });
    await until(async () => {
      const { type, runId } = await task.describe();
      return type === 'task' && runId !== first;
    });
    return task;
  }

  it('adds no event in an hour and in 90 days while it is pending (P52)', async () => {
    const task = await stage.create();
    expect((await stage.record(task)).status).toBe('pending');
    await expectIdle(server, task);
  });

  it.each([
    ['after it has completed', {}, 'completed'],
    ['while its run stays interrupted', { outcome: 'stopped', code: 'user_stopped' }, 'interrupted'],
    ['while it waits for a decision', { outcome: 'interrupted_owner', code: 'interrupted_owner' }, 'in_progress'],
  ] as const)('adds none %s (P52)', async (_, report, status) => {
    const task = await ran(report);
    expect((await stage.record(task)).status).toBe(status);
    await expectIdle(server, task);
  });

  it('adds none while it waits for a dependency, and neither does the dependency (P52)', async () => {
    const other = await stage.create();
    const task = await stage.create({ dependencies: [idOf(other)] });
    expect(await stage.ask(task, { whenReady: true })).toMatchObject({ waitsFor: [idOf(other)] });
    await until(async () => (await other.query<{ dependants: unknown[] }>('carried')).dependants.length === 1);
    // It looks at its dependencies once more after it has asked them to tell it.
    const looks = async () =>
      (await task.fetchHistory()).events?.filter(({ activityTaskCompletedEventAttributes: done }) => done).length;
    await until(async () => (await looks()) === 2);
    await expectIdle(server, task, other);
  });
});

describe("a project's queue that nobody touches", () => {
  let server: TimeSkippingServer;
  let queue: ScriptedQueue;
  beforeEach(async () => {
    if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
    server = await TimeSkippingServer.start();
    queue = await ScriptedQueue.begin(server);
  });
  afterEach(async () => {
    await queue.close();
    await server.stop();
  });

  const hasLooked = (times: number) => until(() => queue.looks >= times);

  it('adds no event in an hour and in 90 days once its run has settled (P52)', async () => {
    const [run] = await queue.running();
    await queue.handle.signal(runSettledSignal, { taskId: 'T-1', attemptId: run?.attemptId ?? '' });
    await until(async () => (await queue.running()).length === 0);
    // The timer of the run that was there is still to come.
    await server.skip(5 * MINUTE);
    await expectIdle(server, queue.handle);
    expect(queue.looks).toBe(0);
  });

  it('looks at its runs every 2 minutes while some are there, and no more (P52)', async () => {
    await server.skip(100 * SECOND);
    await quiet(queue.handle);
    expect(queue.looks).toBe(0);
    for (let times = 1; times <= 30; times += 1) {
      await server.skip(2 * MINUTE);
      await hasLooked(times);
      await quiet(queue.handle);
    }
    expect(queue.looks).toBe(30);
    const [run] = await queue.running();
    queue.settled.push(run?.attemptId ?? '');
    await server.skip(2 * MINUTE);
    await until(async () => (await queue.running()).length === 0);
    await expectIdle(server, queue.handle);
    expect(queue.looks).toBe(31);
  });
});
