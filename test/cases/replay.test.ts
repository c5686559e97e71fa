import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { addActivityUpdate, updateUpdate, whyQuery } from '../../contract/task';
import { goodReport } from '../helpers/fake-host';
import { replayAll } from '../helpers/replay';
import { root } from '../helpers/root';
import { Stage } from '../helpers/stage';

const STEPS = 30;
const TASKS = 6;
/** A version mark takes at most 2 kB for one workflow; half of it is left for what a phase adds. */
const PATCH_BYTES = 1_000;

/** What a task says of itself, without what differs between any two tasks: ids and times. */
async function contentOf(stage: Stage, task: WorkflowHandle): Promise<string> {
  const { metadata, title, activities, status, context } = await stage.record(task);
  return JSON.stringify({
    metadata,
    title,
    status,
    context,
    activities: activities.map(({ at: _, ...entry }) => entry),
  });
}

async function step(task: WorkflowHandle, name: string, serial: number): Promise<void> {
  await task.executeUpdate(addActivityUpdate, { args: [{ summary: `${name} ${serial}` }] });
  const metadata = { [`${name}-${serial % 5}`]: serial, name };
  await task.executeUpdate(updateUpdate, { args: [{ metadata, title: `${name} ${serial}` }] });
}

describe('two tasks in one worker', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  /** Lets two tasks take turns, or one come after the other. */
  async function play(isInTurns: boolean): Promise<string[]> {
    const [a, b] = [await stage.create(), await stage.create()];
    const first = Array.from({ length: STEPS }, (_, serial) => () => step(a, 'grün', serial));
    const second = Array.from({ length: STEPS }, (_, serial) => () => step(b, '日本', serial));
    const inTurns = first.flatMap((work, serial) => [work, ...second.slice(serial, serial + 1)]);
    for (const work of isInTurns ? inTurns : [...first, ...second]) await work();
    return Promise.all([contentOf(stage, a), contentOf(stage, b)]);
  }

  it('know nothing of one another: in turns, one after the other, and replayed for every step (P61)', async () => {
    const alone = await play(false);
    expect(await play(true)).toEqual(alone);
    await stage.stopWorkers();
    await stage.startWorkers({ maxCachedWorkflows: 0 });
    expect(await play(true)).toEqual(alone);
  });
});

describe('a worker that replays every task, is asked all the time and is started again', () => {
  it('sends nothing twice: one run, one receipt and one result of each (P85)', async () => {
    const stage = await Stage.open({ isEmpty: true });
    try {
      let runs = 0;
      stage.host.run = (order) => {
        runs += 1;
        return goodReport(order);
      };
      await stage.startWorkers({ maxCachedWorkflows: 0 });
      const tasks: WorkflowHandle[] = [];
      for (let serial = 0; serial < TASKS; serial += 1) {
        const task = await stage.create();
        tasks.push(task);
        const { attemptId } = await stage.dispatch(task);
        for (let times = 0; times < 5; times += 1) await task.query(whyQuery);
        await stage.settled(task, attemptId);
      }
      const receipts = () => stage.store.selectFrom('receipts').selectAll().execute();
      const before = {
        runs,
        receipts: await receipts(),
        contents: await Promise.all(tasks.map((task) => stage.record(task))),
      };
      expect({ runs: before.runs, receipts: before.receipts.length }).toEqual({ runs: TASKS, receipts: TASKS });
      for (let times = 0; times < 3; times += 1) {
        await stage.stopWorkers();
        await stage.startWorkers({ maxCachedWorkflows: 0 });
        for (const task of tasks) await task.query(whyQuery);
      }
      expect(await replayAll(stage.client)).toEqual({ task: 2 * TASKS, dispatchTask: TASKS });
      const contents = await Promise.all(tasks.map((task) => stage.record(task)));
      expect({ runs, receipts: await receipts(), contents }).toEqual(before);
    } finally {
      await stage.close();
    }
  });
});

describe('patches', () => {
  const folder = join(root, 'workflows');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const calls = sources.flatMap((name) => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(/\b(?:patched|deprecatePatch)\(\s*(.*?)[,)]/g),
  ]);
  const ids = calls.map(([, id = '']) => id);

  it('are few enough for one version mark, and dated, so that the old ones are seen (P58)', () => {
    expect(sources).not.toEqual([]);
    expect(ids.filter((id) => !/^'\d{4}-\d\d-[a-z0-9-]+'$/.test(id))).toEqual([]);
    expect([...new Set(ids)].join().length).toBeLessThan(PATCH_BYTES);
  });
});
