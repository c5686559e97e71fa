import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { TaskActivities } from '../../contract/activities';
import { failureCode, FAILURES } from '../../contract/failures';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, type TaskKey } from '../../contract/names';
import {
  dependantAddedSignal,
  dependencyCompletedSignal,
  refuseDependencies,
  type Relations,
} from '../../contract/relation';
import { bounded } from '../../contract/text';
import { dispatchTask, dropAwaiting, isForQueue, type Dispatch } from '../task-record/dispatching';
import { now, type TaskRecord } from '../task-record/record';
import { readRelationsAtLast } from '../task-record/relations';
import { append } from '../task-record/transitions';
import { endLost, owesStop } from './end-lost';
import { enqueue } from './enqueue';
import { queueOwedReceipt } from './owed-receipts';
import { attemptIdOf } from './resting-rules';

/** Bounded, because a request that ends the rest of the task waits for it. */
const { cancelChildren } = proxyActivities<TaskActivities>({
  taskQueue: ORCHESTRATOR_QUEUE,
  scheduleToCloseTimeout: '1 minute',
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '10 seconds' },
});

type Errand = () => Promise<void>;

/** What a task at rest owes to related tasks, to itself, or to whoever keeps the books; undefined when nothing. */
export function nextErrand(record: TaskRecord): Errand | undefined {
  const [owed] = record.carried.owedReceipts ?? [];
  const soon = soonErrand(record);
  if (soon !== undefined) return soon;
  const isNeeded = () => record.carried.intent !== null || record.isFull() || soonErrand(record) !== undefined;
  if (owesStop(record)) return () => endLost(record, isNeeded);
  if (owed === undefined) return undefined;
  return () => queueOwedReceipt(record, owed, isNeeded);
}

function soonErrand(record: TaskRecord): Errand | undefined {
  const { task, dependants, owesCancel, awaiting, version } = record.carried;
  if (task.status === 'completed' && dependants.length > 0) return () => tellDependants(record);
  if (owesCancel && version > 1) return () => tellChildren(record);
  if (awaiting !== null && record.isReadinessDue) return () => startWhenReady(record);
  return undefined;
}

/** Tells everyone who waits for it that this task has completed; one that is gone needs to hear nothing. */
async function tellDependants(record: TaskRecord): Promise<void> {
  const { task, dependants } = record.carried;
  await Promise.all(
    dependants.map((workflowId) =>
      getExternalWorkflowHandle(workflowId).signal(dependencyCompletedSignal, task.id).catch(ignore),
    ),
  );
  record.conclude((carried) => ({
    ...carried,
    dependants: carried.dependants.filter((other) => !dependants.includes(other)),
  }));
}

/** Cancels the children of a cancelled task (PD13); what keeps it from that is in the record, for a person to do. */
async function tellChildren(record: TaskRecord): Promise<void> {
  const { tenantId, id: taskId } = record.carried.task;
  const trouble = await cancelChildren({ task: { tenantId, taskId }, actor: 'perdure' }).then(() => null, troubleOf);
  record.conclude((carried) => ({ ...carried, owesCancel: false }));
  if (trouble === null) return;
  const entry = { at: now(), actor: 'perdure', summary: `its parts were not cancelled: ${trouble}` };
  record.commit((carried) => append(carried, { ...entry, detail: { type: 'children' } }));
}

function troubleOf(error: unknown): string {
  if (!(error instanceof ActivityFailure)) throw error;
  return bounded(error.cause?.message ?? error.message, 500);
}

/** How long until a dependency that could not be told to tell is looked at again: it may be gone, or on its way back. */
const AGAIN = '10 minutes';

/**
 * Makes the dispatch that waits for the dependencies once all of them have completed. It asks the open ones to tell it
 * and looks again then, so that a completion in between is not missed. Whatever changes meanwhile makes it look anew.
 */
async function startWhenReady(record: TaskRecord): Promise<void> {
  record.isReadinessDue = false;
  const { awaiting, task } = record.carried;
  const isSame = () => record.carried.awaiting === awaiting && record.carried.task.dependencies === task.dependencies;
  const scope = new CancellationScope();
  void condition(() => record.carried.intent !== null || record.isFull() || !isSame()).then(() => {
    scope.cancel();
  });
  const relations = await scope.run(() => readWatching(record)).catch(unlessCancelled);
  if (awaiting === null || relations === null || !isSame()) return;
  if (refuseDependencies(task.id, relations) !== null) return;
  try {
    if (isForQueue(record.carried, awaiting)) await enqueue(record, awaiting);
    else record.perform((carried) => dispatchTask(carried, claimOf(awaiting, relations)));
  } catch (error) {
    giveUp(record, error);
  }
}

const claimOf = (dispatch: Dispatch, relations: Relations) => ({
  dispatch: { ...dispatch, whenReady: false },
  attemptId: attemptIdOf(dispatch),
  at: now(),
  relations,
});

async function readWatching(record: TaskRecord): Promise<Relations> {
  const relations = await readRelationsAtLast(record);
  const open = relations.dependencies.filter(({ status }) => status !== 'completed');
  if (open.length === 0) return relations;
  const { tenantId } = record.carried.task;
  const watched = await Promise.all(open.map(({ id: taskId }) => watch({ tenantId, taskId })));
  if (watched.includes(false)) lookAgain(record);
  return readRelationsAtLast(record);
}

function lookAgain(record: TaskRecord): void {
  void sleep(AGAIN).then(() => (record.isReadinessDue = true));
}

/** A refusal that may pass keeps the wait; any other one ends it, and the record says so. */
function giveUp(record: TaskRecord, error: unknown): void {
  if (!(error instanceof ApplicationFailure)) throw error;
  const code = failureCode.safeParse(error.type);
  if (code.success && FAILURES[code.data].retryable) {
    lookAgain(record);
    return;
  }
  const why = `${error.type ?? 'refused'}: ${error.message}`;
  record.commit((carried) => dropAwaiting(carried, { at: now(), actor: 'perdure' }, why));
}

function unlessCancelled(error: unknown): null {
  if (isCancellation(error)) return null;
  throw error;
}

/** Asks a dependency to tell of its completion; false when it could not be asked. */
async function watch(dependency: TaskKey): Promise<boolean> {
  const other = getExternalWorkflowHandle(taskWorkflowId(dependency));
  return other.signal(dependantAddedSignal, workflowInfo().workflowId).then(() => true, isCancelledElse(false));
}

const isCancelledElse =
  <T>(value: T) =>
  (error: unknown): T => {
    if (isCancellation(error)) throw error;
    return value;
  };

const ignore = (): void => undefined;
