import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { pollersOf } from '../../client/pollers';
import { ORCHESTRATOR_QUEUE } from '../../contract/names';
import { goodReport } from '../helpers/fake-host';
import { workflowBundle } from '../helpers/root';
import { Stage } from '../helpers/stage';
import { until } from '../helpers/until';

const BUILDS = 120;

let stage: Stage;
let connection: NativeConnection;
let directory: string;
beforeAll(async () => {
  stage = await Stage.open({ isEmpty: true });
  connection = await NativeConnection.connect({ address: stage.server.address });
  directory = mkdtempSync(join(tmpdir(), 'perdure-builds-'));
});
afterAll(async () => {
  await stage.close();
  await connection.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The workflows of a build: an id of a build is made of the code of its bundle. */
const realBundle = (build: number) => ({
  code: `/* build ${String(build)} */ ${readFileSync(workflowBundle.codePath, 'utf8')}`,
});

/** A bundle that is loaded in no time: a build whose workers come and go while nothing is to be done. */
async function smallBundle() {
  const workflowsPath = join(directory, 'workflows.js');
  writeFileSync(workflowsPath, 'exports.idle = async () => undefined;\n');
  return bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
}

describe('builds of workers that come and go', () => {
  it('register nothing that could run full, and an old interrupted task goes on under the newest (P74)', async () => {
    await stage.startWorkers({ workflowBundle: realBundle(1) });
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    expect(await stage.settle(task)).toMatchObject({ outcome: 'interrupted_owner' });
    await stage.stopWorkers();

    const { code } = await smallBundle();
    const builds = new Set<string | undefined>();
    for (let build = 2; build <= BUILDS; build += 1) {
      const identity = `worker-${String(build)}`;
      const bundle = { code: `/* build ${String(build)} */ ${code}` };
      const queue = { connection, taskQueue: ORCHESTRATOR_QUEUE };
      const worker = await Worker.create({ ...queue, workflowBundle: bundle, identity });
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the id that the SDK makes of the code, as it is for ours
      builds.add(worker.options.buildId);
      await worker.runUntil(
        until(async () => (await pollersOf(stage.session, ORCHESTRATOR_QUEUE, 'workflow')).includes(identity)),
      );
    }

    expect(builds.size).toBe(BUILDS - 1);

    const { workflowService } = stage.client;
    const { workerDeployments } = await workflowService.listWorkerDeployments({ namespace: 'default' });
    expect(workerDeployments).toEqual([]);
    const named = { namespace: 'default', taskQueue: ORCHESTRATOR_QUEUE };
    expect((await workflowService.getWorkerBuildIdCompatibility(named)).majorVersionSets).toEqual([]);

    await stage.startWorkers({ workflowBundle: realBundle(BUILDS + 1) });
    stage.host.run = (order) => goodReport(order);
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed', mode: 'retry' });
    expect((await stage.record(task)).status).toBe('in_progress');
  });
});
