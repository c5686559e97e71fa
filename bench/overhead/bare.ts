import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { LocalStage } from '../../scripts/stage/local-stage';
import { BARE_QUEUE, type bare } from './bare-workflow';
import { now } from './figures';

/** Starts the worker of the bare workflow; resolves when it takes work. */
export async function startBareWorker(stage: LocalStage): Promise<ChildProcess> {
  const entry = join(__dirname, '..', 'bare-worker.js');
  const child = fork(entry, [stage.server.address], { env: stage.env, detached: true });
  stage.children.add(child);
  const ended = once(child, 'exit').then(() => {
    throw new Error('the bare worker ended at once');
  });
  await Promise.race([once(child, 'message'), ended]);
  return child;
}

/** Milliseconds of one bare run. */
export interface BareRun {
  /** From the request, and from its acceptance, to the activity's first instruction. */
  readonly fromRequest: number;
  readonly fromAccepted: number;
}

/** Runs the bare workflow once. */
export async function runBare(client: Client): Promise<BareRun> {
  const requestedAt = now();
  const handle = await client.workflow.start<typeof bare>('bare', {
    taskQueue: BARE_QUEUE,
    workflowId: `bare/${randomUUID()}`,
  });
  const acceptedAt = now();
  const startedAt = await handle.result();
  return { fromRequest: startedAt - requestedAt, fromAccepted: startedAt - acceptedAt };
}
