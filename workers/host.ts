import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { createProviderActivities } from '../activities/provider/activities';
import { createSandboxActivities } from '../activities/sandbox/activities';
import { createWorkspaces } from '../activities/sandbox/workspaces';
import { hostQueue } from '../contract/names';
import { runnerEntry, turnEntry, type WorkerConfig } from './config';

/** Every running attempt holds one slot for as long as it runs, and costs next to nothing meanwhile. */
const ACTIVITY_SLOTS = 500;

/** The worker of one machine's queue: it starts, follows and stops the providers of this host. */
export async function createHostWorker(config: WorkerConfig, connection: NativeConnection): Promise<Worker> {
  const { env, home, plan } = config;
  const workspaces = createWorkspaces(home.path);
  return Worker.create({
    connection,
    namespace: plan.namespace,
    dataConverter: plan.payloads.dataConverter,
    taskQueue: hostQueue(home.hostId),
    identity: `perdure-host ${String(process.pid)}@${home.hostId}`,
    activities: {
      ...createProviderActivities({ home: home.path, hostId: home.hostId, env, runnerEntry, turnEntry, workspaces }),
      ...createSandboxActivities({ workspaces, heartbeat, cancellation: cancellationSignal }),
    },
    maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS,
    // Runs are handed over at once: their providers go on without this process.
    shutdownGraceTime: 0,
    shutdownForceTime: '10 seconds',
  });
}
