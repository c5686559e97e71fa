import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';

const bundle = join(__dirname, '..', '..', 'dist', 'workflow-bundle.js');

/**
 * Replays the history of every workflow that a server ran with the workflows as they are built now, and answers the
 * workflow types in order; throws at the first history that does not replay.
 */
export async function replayAll(client: Client): Promise<string[]> {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  const types = new Set<string>();
  async function* histories() {
    for await (const { workflowId, runId, type } of client.workflow.list()) {
      types.add(type);
      yield { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
    }
  }
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: { codePath: bundle } },
    histories(),
  )) {
    if (error) throw new Error(`the history of ${workflowId} does not replay`, { cause: error });
  }
  return [...types].sort();
}
