import { z } from 'zod';
import type { Tasks } from './tasks';

const requestSchema = z.object({ execution: z.object({ workflowId: z.string() }) });

/** How many queries our own client has sent to a workflow id. */
export type CountQueries = (workflowId: string) => number;

/** Counts the queries that our own client sends while it waits; they leave no event and are billed all the same. */
export async function watchQueries(tasks: Tasks): Promise<CountQueries> {
  const { workflowService } = await tasks.stage.session.client();
  const send = workflowService.queryWorkflow;
  const counts = new Map<string, number>();
  Object.defineProperty(workflowService, 'queryWorkflow', {
    value: (...args: unknown[]): unknown => {
      const { workflowId } = requestSchema.parse(args[0]).execution;
      counts.set(workflowId, (counts.get(workflowId) ?? 0) + 1);
      return Reflect.apply(send, workflowService, args);
    },
  });
  return (workflowId) => counts.get(workflowId) ?? 0;
}
