import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { DevServer } from '../helpers/dev-server';
import { root } from '../helpers/root';
import { itemAddedSignal, workersUpgradedSignal, type LoopActivities } from '../fixtures/loop/loop';
import { until } from '../helpers/until';

type Version = 'before' | 'after';
const LOOPS = ['loopByRules', 'loopByPatch', 'loopByTwoPatches'] as const;
type Loop = (typeof LOOPS)[number];
const taskQueue = 'loop';

let server: DevServer;
let connection: NativeConnection;
const bundles = new Map<Version, { code: string }>();
/** What was done for each item: `o` is a step of the old way, `n` one of the new. */
const steps = new Map<string, string>();
/** The last item on the old code waits in its step until it is let go. */
let release: () => void = () => undefined;
const released = new Promise<void>((resolve) => (release = resolve));

async function note(item: string, step: string): Promise<void> {
  steps.set(item, (steps.get(item) ?? '') + step);
  if (item.endsWith('/3')) await released;
}
const activities: LoopActivities = {
  takeOldStep: (item) => note(item, 'o'),
  takeNewStep: (item) => note(item, 'n'),
};

/** Runs a worker; answers what ends it. */
function run(worker: Worker): () => Promise<void> {
  const running = worker.run();
  return () => {
    worker.shutdown();
    return running;
  };
}

function bundleOf(version: Version): { code: string } {
  const bundle = bundles.get(version);
  if (bundle === undefined) throw new Error(`there is no bundle ${version}`);
  return bundle;
}

const startWorker = async (version: Version) =>
  run(await Worker.create({ connection, taskQueue, workflowBundle: bundleOf(version) }));

let endWorker: () => Promise<void>;
let endActivities: () => Promise<void>;

const handleOf = (loop: Loop): WorkflowHandle => server.client.workflow.getHandle(loop);
const itemsOf = (loop: Loop, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${loop}/${String(from + index)}`);

/** Gives every loop the items with these numbers. */
async function add(from: number, to: number): Promise<void> {
  for (const loop of LOOPS) {
    for (const item of itemsOf(loop, from, to)) await handleOf(loop).signal(itemAddedSignal, item);
  }
}

/** What was done for the items with these numbers, once the loop has come to its rest after them. */
async function done(loop: Loop, from: number, to: number): Promise<(string | undefined)[]> {
  await until(async () => {
    const { raw } = await handleOf(loop).describe();
    const isAtRest = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
    return isAtRest && steps.has(`${loop}/${String(to)}`);
  });
  return itemsOf(loop, from, to).map((item) => steps.get(item));
}

const all = (count: number, way: string) => Array.from({ length: count }, () => way);

beforeAll(async () => {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  for (const version of ['before', 'after'] as const) {
    const workflowsPath = join(root, 'test', 'fixtures', 'loop', `${version}.ts`);
    bundles.set(version, await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }));
  }
  server = await DevServer.start();
  connection = await NativeConnection.connect({ address: server.address });
  endActivities = run(await Worker.create({ connection, taskQueue, activities }));
  endWorker = await startWorker('before');
  for (const loop of LOOPS) {
    await server.client.workflow.start(loop, { workflowId: loop, taskQueue, args: [{ version: 1, items: [] }] });
  }
});
afterAll(async () => {
  release();
  await endWorker();
  await endActivities();
  await connection.close();
  await server.stop();
});

describe('a loop whose body changes while it goes on', () => {
  it('begins in the old way, and its third item is under way when the workers are upgraded', async () => {
    await add(1, 3);
    for (const loop of LOOPS) await until(() => steps.has(`${loop}/3`));
    await endWorker();
    endWorker = await startWorker('after');
    release();
    await add(4, 8);
    for (const loop of LOOPS) expect((await done(loop, 1, 8)).slice(0, 2)).toEqual(all(2, 'o'));
  });

  it('by rules in its input keeps the old way to the end of the run, and the next run takes the new one (P59)', async () => {
    expect(await done('loopByRules', 3, 8)).toEqual(all(6, 'o'));
    await handleOf('loopByRules').signal(workersUpgradedSignal);
    await add(9, 23);
    expect(await done('loopByRules', 9, 23)).toEqual(all(15, 'nn'));
  });

  it('by a patch takes the new way within the run, from the first item that began on the new code (P59)', async () => {
    expect(await done('loopByPatch', 3, 23)).toEqual(['o', ...all(20, 'nn')]);
  });

  it('by a patch that an item asks for twice does both to the one that was under way: the trap (P59)', async () => {
    expect(await done('loopByTwoPatches', 3, 23)).toEqual(['onn', ...all(20, 'nn')]);
  });

  it.each([
    ['loopByRules', 2],
    ['loopByPatch', 1],
    ['loopByTwoPatches', 1],
  ] as const)('replays whole on the newer code: %s (P59)', async (loop, count) => {
    const query = `WorkflowId = '${loop}'`;
    const runs = await until(async () => {
      const found: { workflowId: string; runId: string }[] = [];
      for await (const run of server.client.workflow.list({ query })) found.push(run);
      return found.length === count && found;
    });
    for (const { workflowId, runId } of runs) {
      const history = await server.client.workflow.getHandle(workflowId, runId).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: bundleOf('after') }, history, workflowId);
    }
  });
});
