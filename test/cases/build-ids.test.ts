import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { pollersOf } from '../../client/pollers';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { goodReport } from '../helpers/fake-host';
import { root, workflowBundle } from '../helpers/root';
import { Stage } from '../helpers/stage';
import { until } from '../helpers/until';

/** So many builds one after the other, each with so many variants: 120 ids in all. */
const GENERATIONS = 12;
const AT_ONCE = 10;

/** The server tells of the pollers of one partition of a queue; so all are in it. */
const ONE_PARTITION = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'];

let stage: Stage;
/** One for each worker of a generation: two workers of one queue do not share a connection. */
let connections: NativeConnection[];
beforeAll(async () => {
  stage = await Stage.open({ isEmpty: true, settings: ONE_PARTITION });
  const { address } = stage.server;
  connections = await Promise.all(Array.from({ length: AT_ONCE }, () => NativeConnection.connect({ address })));
});
afterAll(async () => {
  await stage.close();
  await Promise.all(connections.map((connection) => connection.close()));
});

/** The workflows of a build: an id of a build is made of the code of its bundle. */
const realBundle = (build: number) => ({
  code: `/* build ${String(build)} */ ${readFileSync(workflowBundle.codePath, 'utf8')}`,
});

/** A worker of a build of its own that has nothing to do. */
const makeWorker = (connection: NativeConnection, identity: string, code: string): Promise<Worker> => {
  const workflowBundle = { code: `/* ${identity} */ ${code}` };
  return Worker.create({ connection, taskQueue: ORCHESTRATOR_QUEUE, workflowBundle, identity });
};

describe('builds of workers that come and go', () => {
  it('register nothing that could run full, and an old interrupted task goes on under the newest (P74)', async () => {
    await stage.startWorkers({ workflowBundle: realBundle(1) });
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'interrupted_owner' });
    await stage.stopWorkers();

    const workflowsPath = join(root, 'test', 'fixtures', 'idle-workflow.ts');
    const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
    const builds = new Set<string | undefined>();
    for (let generation = 0; generation < GENERATIONS; generation += 1) {
      const identities = connections.map((_, serial) => `build-${String(generation)}-${String(serial)}`);
      const workers = await Promise.all(
        connections.map((connection, serial) => makeWorker(connection, identities[serial] ?? '', code)),
      );
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the id that the SDK makes of the code, as it is for ours
      for (const { options } of workers) builds.add(options.buildId);
      const seen = until(async () => {
        const known = await pollersOf(stage.session, ORCHESTRATOR_QUEUE, 'workflow');
        return identities.every((identity) => known.includes(identity));
      });
      await Promise.all(workers.map((worker) => worker.runUntil(seen)));
    }
    expect(builds.size).toBe(GENERATIONS * AT_ONCE);

    const { workflowService } = stage.client;
    const { workerDeployments } = await workflowService.listWorkerDeployments({ namespace: 'default' });
    expect(workerDeployments).toEqual([]);

    await stage.startWorkers({ workflowBundle: realBundle(2) });
    stage.host.run = (order) => goodReport(order);
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed', mode: 'retry' });
    expect((await stage.record(task)).status).toBe('in_progress');
  }, 600_000);
});
