import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { WORKFLOW } from '../../contract/names';
import { workflowBundle } from './root';

interface History {
  readonly events?: readonly {
    readonly workflowExecutionStartedEventAttributes?: { workflowType?: { name?: string } };
  }[];
}

/** Reads a recorded history; throws when it is not a whole one of a workflow of ours. */
export function parseHistory(json: string): History {
  const history = JSON.parse(json) as History;
  const type = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name;
  if (type === undefined) throw new Error('not a history as `temporal workflow show --output json` prints it');
  if (!Object.values<string>(WORKFLOW).includes(type))
    throw new Error(`a history of ${type}, which is no workflow of ours`);
  return history;
}

/** Replays one history on the bundle that workers load; rejects when the code would decide otherwise. */
export async function replay(history: unknown, workflowId?: string): Promise<void> {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
}

/**
 * Replays every run that a server knows of, all in one worker; answers how many of each type there were. A history that
 * does not replay is kept as a file.
 */
export async function replayAll(client: Client): Promise<Record<string, number>> {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
  const counts: Record<string, number> = {};
  async function* histories() {
    for await (const { workflowId, runId, type } of client.workflow.list()) {
      if (!Object.values<string>(WORKFLOW).includes(type)) continue;
      yield { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
      counts[type] = (counts[type] ?? 0) + 1;
    }
  }
  for await (const { workflowId, runId, error } of Worker.runReplayHistories({ workflowBundle }, histories())) {
    if (!error) continue;
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const file = join(tmpdir(), `perdure-${runId}.json`);
    await writeFile(file, JSON.stringify(historyToJSON(history), null, 2));
    throw new Error(`run ${runId} of ${workflowId} does not replay; its history is in ${file}`, { cause: error });
  }
  return counts;
}
