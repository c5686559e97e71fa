import { failure, type Failure } from '../../contract/failures';
import type { Carried } from '../../contract/run';
import {
  RECORD_BYTES,
  recordLength,
  STRUCTURE_BYTES,
  type noteSchema,
  type Task,
  type TaskAnswer,
  type taskUpdateSchema,
} from '../../contract/task';
import type { z } from 'zod';
import { bounded, threadId } from '../../contract/text';
import { refuseOwnProof } from './supervision';
import { append, type Step } from './transitions';

/** What a caller is told of the task that its request changed. */
export const answerOf = (task: Task, warnings: string[] = []): TaskAnswer => ({
  success: true,
  taskId: task.id,
  status: task.status,
  ...(warnings.length > 0 && { warnings }),
});

/** A summary as it stands in a list: never blank, bounded. */
export const boundedSummary = (text: string): string => bounded(text.trim(), 1_000) || '(no text)';

/** Warns of a result id that the engine never issued for this task (TR10). */
export function resultWarnings(carried: Carried, executionResultId: string | undefined): string[] {
  if (executionResultId === undefined) return [];
  const isKnown = carried.attempts.some((attempt) => attempt.executionResultId === executionResultId);
  return isKnown || carried.archived.attempts > 0 ? [] : [`no run of this task has the result ${executionResultId}`];
}

/** A merged context must stay within its bound, with room for what a run binds, and name a thread that can be one. */
function refuseContext({ id: taskId, context }: Task, given: Task['context']): Failure | null {
  const { thread_id: thread } = given;
  if (thread !== undefined && !(typeof thread === 'string' && (thread.trim() === '' || threadId.test(thread)))) {
    return failure('INVALID_ARGUMENT', 'context.thread_id is no thread id (a UUID)', { taskId });
  }
  if (JSON.stringify(context).length <= STRUCTURE_BYTES - RUN_BINDING_BYTES) return null;
  return failure('INVALID_ARGUMENT', 'the whole context would be too long', { taskId });
}

/** Bytes of a context that are kept for the thread and the run. */
const RUN_BINDING_BYTES = 512;

const tooLarge = (task: Task) =>
  failure('INVALID_ARGUMENT', `the task would take more than ${String(RECORD_BYTES)} bytes`, { taskId: task.id });

/** Changes content fields and never the status (TR8). */
export function updateTask(carried: Carried, update: z.output<typeof taskUpdateSchema>, at: string): Step<TaskAnswer> {
  const { actor, requestId: _, executionResultId, context, ...fields } = update;
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const task: Task = {
    ...carried.task,
    ...given,
    context: { ...carried.task.context, ...context },
  };
  const byRun = given['acceptance'] === undefined ? null : refuseOwnProof(carried, actor);
  if (byRun !== null) return byRun;
  if (recordLength(task) > RECORD_BYTES) return tooLarge(task);
  const wrong = refuseContext(task, context ?? {});
  if (wrong !== null) return wrong;
  const names = [...Object.keys(given), ...(context === undefined ? [] : ['context'])].sort();
  if (names.length === 0) return failure('INVALID_ARGUMENT', 'the update names no field', { taskId: task.id });
  const next = append(
    { ...carried, task },
    {
      at,
      actor,
      summary: `changed ${names.join(', ')}`,
      detail: { type: 'update', fields: names },
      ...(executionResultId !== undefined && { executionResultId }),
    },
  );
  return { carried: next, answer: answerOf(next.task, resultWarnings(carried, executionResultId)) };
}

/** Adds a note in any status, terminal ones included (TS10). */
export function addActivity(carried: Carried, note: z.output<typeof noteSchema>, at: string): Step<TaskAnswer> {
  const { actor, summary, executionResultId } = note;
  const entry = {
    at,
    actor,
    summary,
    detail: { type: 'note' },
    ...(executionResultId !== undefined && { executionResultId }),
  };
  const next = append(carried, entry);
  return { carried: next, answer: answerOf(next.task, resultWarnings(carried, executionResultId)) };
}
