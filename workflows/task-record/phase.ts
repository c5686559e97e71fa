import { allHandlersFinished, condition, makeContinueAsNewFunc, proxyActivities } from '@temporalio/workflow';
import type { ReceiptActivities } from '../../contract/activities';
import { ORCHESTRATOR_QUEUE, type PhaseType } from '../../contract/names';
import type { PhaseInput } from '../../contract/new-task';
import { RULES, type Carried } from '../../contract/run';
import { CARRIED_BYTES, utf8Length } from '../../contract/text';
import type { TaskRecord } from './record';
import { attributesOf } from './view';

/** Light, idempotent and local to the orchestrator: retried for as long as the store may need. */
const { archiveEntries } = proxyActivities<ReceiptActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** The phase that what is intended of a task asks for; without an intent it rests. */
const phaseFor = ({ intent }: Carried): PhaseType =>
  intent === null ? 'task' : intent.kind === 'reopen' ? 'reopenTask' : 'dispatchTask';

/**
 * Ends a phase: what grew goes to the store, handlers finish, and the next phase goes on with the record. Which one that
 * is, is read last: a request that is accepted meanwhile may have changed what is intended.
 */
export async function goOn(record: TaskRecord): Promise<never> {
  const overflow = record.overflow();
  if (overflow !== null) {
    const { tenantId, id } = record.carried.task;
    await archiveEntries({ task: { tenantId, taskId: id }, entries: overflow.entries });
    record.conclude(overflow.drop);
  }
  await condition(allHandlersFinished);
  const continueAs = makeContinueAsNewFunc<(input: PhaseInput) => Promise<unknown>>({
    workflowType: phaseFor(record.carried),
    typedSearchAttributes: attributesOf(record.carried),
  });
  const input = { carried: { ...record.carried, version: RULES } } satisfies PhaseInput;
  // The server would end a workflow for an input beyond its limit; a failed task is tried again and loses nothing.
  if (utf8Length(JSON.stringify(input)) > CARRIED_BYTES) throw new Error('the record is too large to be carried over');
  return continueAs(input);
}
