import { findOrphans } from '../../client/index';
import { WORKFLOW } from '../../contract/names';
import { valueOf, type Tasks } from './tasks';
import { until } from './visible';

/** Sweeps once, checks what became of a task, and answers the sweep's workflow id. */
export async function sweep(tasks: Tasks, taskId: string, action: 'failed' | 'restored'): Promise<string> {
  const before = await sweeps(tasks);
  const { orphans } = valueOf(await findOrphans(tasks.stage.session, { apply: true }));
  const found = orphans.find((orphan) => orphan.taskId === taskId);
  if (found?.action !== action) throw new Error(`the sweep has not ${action} the task: ${JSON.stringify(orphans)}`);
  let fresh: string | undefined;
  await until('a list shows the sweep', async () => {
    fresh = (await sweeps(tasks)).find((id) => !before.includes(id));
    return fresh !== undefined;
  });
  return fresh ?? '';
}

async function sweeps(tasks: Tasks): Promise<string[]> {
  const client = await tasks.stage.session.client();
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = '${WORKFLOW.sweepOrphans}'` })) {
    ids.push(workflowId);
  }
  return ids;
}
