import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

const LIMIT_MS = 60_000;

/** Waits until a condition holds, without a query: those are counted. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited too long until ${what}`);
    await sleep(50);
  }
}

/** Waits until a workflow has nothing under way. */
export const quiet = (client: Client, workflowId: string): Promise<void> =>
  until(`${workflowId} is quiet`, async () => {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    return !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length + (raw.pendingChildren ?? []).length === 0;
  });

/** Waits until lists show something. */
export const listed = (client: Client, query: string): Promise<void> =>
  until(`a list shows ${query}`, async () => (await client.workflow.count(query)).count > 0);

/** Waits until a workflow is at rest again, in a later run than the given one. */
export const rests = (client: Client, workflowId: string, earlier: string): Promise<void> =>
  until(`${workflowId} rests`, async () => {
    const { type, runId } = await client.workflow.getHandle(workflowId).describe();
    return type === 'task' && runId !== earlier;
  });
