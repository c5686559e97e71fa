import { setTimeout as sleep } from 'node:timers/promises';
import { followerOf } from '../../scripts/stage/follower';
import { endChild, type WorkerProcess } from '../../scripts/stage/worker';
import { now, summary, type Summary } from './figures';
import type { Dispatched, Tasks } from './tasks';

const ROUNDS = 4;
const REST_MS = 1_500;
const LIMIT_MS = 120_000;

/** Seconds until the run was followed by another worker process; the provider is left alone throughout. */
export interface Recovery {
  /** SIGKILL, and a new worker process is started at once. */
  readonly killAndRestart: Summary;
  /** SIGKILL while another worker process of the host runs. */
  readonly killWithSecond: Summary;
  /** SIGTERM, and a new worker process is started when the old one has ended. */
  readonly gracefulRestart: Summary;
  /** SIGTERM while another worker process of the host runs, as in a rolling restart. */
  readonly gracefulWithSecond: Summary;
  /** Start of a worker process to its readiness, for comparison. */
  readonly workerStart: Summary;
}

/** Changes the worker of a run under way again and again. */
export async function measureRecovery(tasks: Tasks, first: WorkerProcess): Promise<Recovery> {
  const run = await tasks.hold();
  const changes = new WorkerChanges(tasks, run, first);
  await changes.untilFollowed();
  const killAndRestart = await changes.repeat(() => changes.restart('SIGKILL'));
  const gracefulRestart = await changes.repeat(() => changes.restart('SIGTERM'));
  const killWithSecond = await changes.repeat(() => changes.replace('SIGKILL'));
  const gracefulWithSecond = await changes.repeat(() => changes.replace('SIGTERM'));
  await tasks.stop(run);
  const workerStart = summary(changes.starts);
  return { killAndRestart, killWithSecond, gracefulRestart, gracefulWithSecond, workerStart };
}

class WorkerChanges {
  readonly starts: number[] = [];

  constructor(
    private readonly tasks: Tasks,
    private readonly run: Dispatched,
    public worker: WorkerProcess,
  ) {}

  async repeat(change: () => Promise<number>): Promise<Summary> {
    const seconds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // A run that is under way, not one that is being taken over at this very moment.
      await sleep(REST_MS);
      seconds.push((await change()) / 1_000);
    }
    return summary(seconds);
  }

  /** Ends the worker, starts another, and waits until that one follows. */
  async restart(signal: NodeJS.Signals): Promise<number> {
    const began = now();
    await endChild(this.worker.child, signal);
    this.worker = await this.start();
    await this.untilFollowed();
    return now() - began;
  }

  /** Ends the worker while another one is there already. */
  async replace(signal: NodeJS.Signals): Promise<number> {
    const old = this.worker;
    this.worker = await this.start();
    // A worker that has just begun to poll is not what a rolling restart has.
    await sleep(1_000);
    const began = now();
    const ended = endChild(old.child, signal);
    await this.untilFollowed();
    const took = now() - began;
    await ended;
    return took;
  }

  async untilFollowed(): Promise<void> {
    const deadline = now() + LIMIT_MS;
    const { session } = this.tasks.stage;
    while ((await followerOf(session, this.run.taskId))?.pid !== this.worker.pid) {
      if (now() > deadline) throw new Error('the run was not followed again');
      await sleep(10);
    }
  }

  private async start(): Promise<WorkerProcess> {
    const began = now();
    const worker = await this.tasks.stage.startWorker();
    this.starts.push((now() - began) / 1_000);
    return worker;
  }
}
