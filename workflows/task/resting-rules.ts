import { currentUpdateInfo, uuid4, workflowInfo } from '@temporalio/workflow';
import { failure, type Failure } from '../../contract/failures';
import { hasRelations, NO_RELATIONS, refuseDependencies } from '../../contract/relation';
import type { DecideAnswer } from '../../contract/decision';
import type { Carried, DispatchAnswer } from '../../contract/run';
import { findHolder, judgeOrphan } from '../fail-orphan';
import { attemptIdFor } from '../task-record/attempt-id';
import {
  awaitDependencies,
  dispatchAgain,
  dispatchTask,
  isForQueue,
  managerOf,
  notDispatchable,
  refuseDispatch,
  threadToKeep,
  type Dispatch,
  type ReopenRequest,
} from '../task-record/dispatching';
import { beginsAttempt, letGoOn, openIncident, refuseGoOn } from '../task-record/decisions';
import { refuseDelivery } from '../task-record/delivery';
import { acceptReopen, refuseReopen } from '../task-record/reopening';
import { plainDecisions, type PhaseRules } from '../task-record/handlers';
import { now, type TaskRecord } from '../task-record/record';
import { refuse } from '../task-record/refusal';
import { readRelations } from '../task-record/relations';
import { claimOf, isBareClaim, isOwnerUnproven, suspectOf } from '../task-record/executor';
import { failOrphaned, failRejected, notOrphaned } from '../task-record/settling';
import { isTerminal, refuseTransition } from '../task-record/transitions';
import { converge, isOrphan } from './converge';
import { owesStop } from './end-lost';
import { enqueue } from './enqueue';

/** How a resting task takes a dispatch, a reopening and a judgement of its executor. */
export function restingRules(record: TaskRecord): PhaseRules {
  let isConverging = false;
  // A stop that waits for a host is to be made true first.
  const isBusy = () => isConverging || owesStop(record);
  const once = async <T>(work: () => Promise<T>): Promise<T> => {
    isConverging = true;
    return work().finally(() => (isConverging = false));
  };
  let enqueuing: Promise<DispatchAnswer> | null = null;
  // Two dispatches at once are one place in the queue.
  const enqueueOnce = (dispatch: Dispatch): Promise<DispatchAnswer> =>
    (enqueuing ??= enqueue(record, dispatch).finally(() => (enqueuing = null)));
  const orphaned = () => isOrphan(record.carried) && managerOf(record.carried) === null;
  const prove = async (dispatch: Dispatch, { refusalOf }: Beginning): Promise<void> => {
    const refusal = await once(() => convergeForDispatch(record, dispatch, refusalOf !== undefined));
    if (refusal !== null) refuse(refusalOf?.(refusal) ?? refusal);
  };
  const begin = async (dispatch: Dispatch, how: Beginning = {}): Promise<DispatchAnswer> => {
    const { prepare } = how;
    if (isForQueue(record.carried, dispatch)) {
      // The queue may start it once it is no more in progress.
      if (prepare !== undefined && record.carried.version > 3 && isOrphan(record.carried)) await prove(dispatch, how);
      if (prepare !== undefined) record.commit(prepare);
      return enqueueOnce(dispatch);
    }
    const requestId = currentUpdateInfo()?.id;
    const attemptId = attemptIdOf(dispatch);
    if (orphaned() && !isConverging) await prove(dispatch, how);
    else if (isOwnerUnproven(record.carried) && !isConverging) await once(() => proveGone(record));
    return start(record, { dispatch, attemptId, requestId, prepare });
  };
  return {
    dispatch: {
      check(dispatch) {
        const { task, intent, version } = record.carried;
        if (isBusy() || intent !== null) return notDispatchable(task);
        const seen = { version, task: orphaned() ? { ...task, status: 'failed' as const } : task };
        return refuseDispatch(seen, dispatch) ?? refuseDelivery(record.carried, dispatch);
      },
      accept: (dispatch) => begin(dispatch),
    },
    decide: decideRule(record, { isBusy: () => isBusy() || enqueuing !== null, begin }),
    reopen: {
      check: (reopen) => refuseReopen(record.carried, reopen),
      accept: (reopen) => acceptReopening(record, reopen),
    },
    failOrphan: {
      check: () => (isBusy() ? notDispatchable(record.carried.task) : notOrphaned(record.carried)),
      async accept({ actor }) {
        const { liveness, evidence, failed } = await once(() => converge(record, actor));
        return { success: true, taskId: record.carried.task.id, liveness, evidence, failed };
      },
    },
  };
}

/** What a decision to go on adds to a dispatch. */
interface Beginning {
  /** What it changes of the record before the attempt begins. */
  readonly prepare?: ((carried: Carried) => Carried) | undefined;
  /** What it says where the executor is not proven gone. */
  refusalOf?(refusal: Failure): Failure;
}

interface Going {
  isBusy(): boolean;
  begin(dispatch: Dispatch, how: Beginning): Promise<DispatchAnswer>;
}

/** How a resting task takes a decision: one that begins an attempt is a dispatch like the last one. */
function decideRule(record: TaskRecord, { isBusy, begin }: Going): PhaseRules['decide'] {
  const plain = plainDecisions(record);
  return {
    check(decision) {
      if (!beginsAttempt(decision.decision)) return plain.check(decision);
      const { task, intent } = record.carried;
      return isBusy() || intent !== null ? notDispatchable(task) : refuseGoOn(record.carried, decision);
    },
    async accept(decision) {
      if (!beginsAttempt(decision.decision)) return plain.accept(decision);
      const prepare = (carried: Carried) => letGoOn(carried, decision, now());
      return decided(
        record,
        await begin(dispatchAgain(record.carried, decision), { prepare, refusalOf: ownerUnconfirmed }),
      );
    },
  };
}

const decided = ({ carried }: TaskRecord, answer: DispatchAnswer): DecideAnswer => ({
  success: true,
  taskId: carried.task.id,
  status: carried.task.status,
  ...('attemptId' in answer && { attemptId: answer.attemptId }),
});

/** A retry needs proof that the last executor is gone (RC-14). */
const ownerUnconfirmed = ({ hint = '', taskId = '' }: Failure): Failure =>
  failure('owner_unconfirmed', `the executor of task ${taskId} is not proven gone`, { hint, taskId });

/**
 * The id of the attempt that a dispatch makes. It follows from the request, so that an operator's reset of the workflow
 * comes to the same attempt and the fence holds; a request id of a person's own making only counts for this task.
 */
export function attemptIdOf({ requestId }: { requestId?: string | undefined }): string {
  const request = requestId ?? currentUpdateInfo()?.id;
  return request === undefined ? uuid4() : attemptIdFor(workflowInfo().workflowId, request);
}

/** A dispatch is a decision to go on where nothing executes the task; without proof of that it is refused as live. */
async function convergeForDispatch(
  record: TaskRecord,
  { actor }: Dispatch,
  isDecision: boolean,
): Promise<Failure | null> {
  const rejected = openIncident(record.carried);
  if (rejected?.code === 'checkpoint_rejected') {
    // Its process has ended: what is open is what to make of its report.
    record.commit((carried) => failRejected(carried, { at: now(), actor }));
    return null;
  }
  const claim = record.carried.version === 1 ? null : claimOf(record.carried);
  if (claim !== null && isBareClaim(claim)) {
    const evidence = [`claimed at ${claim.at} by ${claim.actor}, who named no run`, `${actor} dispatches it`];
    record.commit((carried) => failOrphaned(carried, evidence, { at: now(), actor }));
    return null;
  }
  const { liveness, evidence, isSame } = await converge(record, actor);
  // A dispatch follows the status that it finds (DS8); a decision was about what is no more.
  if (liveness === 'dead' && (isSame || !isDecision)) return null;
  if (!isSame) return changedMeanwhile(record);
  return {
    ...notDispatchable(record.carried.task),
    hint: `The task is in_progress and its executor is ${liveness}: ${evidence.join('; ')}`,
  };
}

/** What somebody did to the task while its executor was looked for stays: nothing is begun over it. */
function changedMeanwhile({ carried: { task, version } }: TaskRecord): Failure | null {
  if (version < 4) return null;
  return failure('TASK_STATUS_CONFLICT', `task ${task.id} became ${task.status} while its executor was looked for`, {
    hint: 'Look at the task, then ask again.',
    retryable: true,
    taskId: task.id,
  });
}

/** An executor that was lost, and that a person's decision passed over, has to be gone before another one begins. */
async function proveGone(record: TaskRecord): Promise<void> {
  const { id: taskId, statusSince } = record.carried.task;
  const { liveness, evidence } = await judgeOrphan(suspectOf(record.carried));
  if (record.carried.task.statusSince !== statusSince)
    refuse(changedMeanwhile(record) ?? notDispatchable(record.carried.task));
  if (liveness === 'dead') return;
  refuse(
    failure('owner_unconfirmed', `the executor of the last attempt of task ${taskId} is not proven gone`, {
      hint: `It is ${liveness}: ${evidence.join('; ')}`,
      taskId,
    }),
  );
}

interface Start extends Pick<Beginning, 'prepare'> {
  readonly dispatch: Dispatch;
  readonly attemptId: string;
  /** Id of the update that asked for it. */
  readonly requestId: string | undefined;
}

async function start(record: TaskRecord, { dispatch, attemptId, requestId, prepare }: Start): Promise<DispatchAnswer> {
  const wasTerminal = isTerminal(record.carried.task.status);
  // Without a pause where there is nothing to read: a stop that was sent right after finds the run.
  const relations = hasRelations(record.carried.task) ? await readRelations(record) : NO_RELATIONS;
  const isWaiting = dispatch.whenReady === true && refuseDependencies(record.carried.task.id, relations) !== null;
  if (isWaiting) {
    // With its id: a reset of the phase that starts by itself must come to the same attempt.
    const awaiting = { ...dispatch, requestId: dispatch.requestId ?? requestId };
    return record.perform((carried) => awaitDependencies(carried, awaiting, { relations, at: now() }));
  }
  const threadId = record.carried.version === 1 ? null : threadToKeep(record.carried.task, dispatch);
  if (threadId !== null) await refuseBusyThread(record, threadId);
  return record.perform((carried) => {
    // Ended while this was looking around: the dispatch was not meant to reopen it.
    if (carried.version > 1 && !wasTerminal && isTerminal(carried.task.status)) {
      return refuseTransition(carried.task, 'in_progress');
    }
    if (owesStop(record)) return notDispatchable(carried.task);
    const prepared = prepare?.(carried) ?? carried;
    return dispatchTask(prepared, { dispatch, attemptId, at: now(), relations });
  });
}

/** A thread that somebody else runs on refuses the dispatch before anything is claimed (RN13). */
async function refuseBusyThread({ carried }: TaskRecord, threadId: string): Promise<void> {
  const { tenantId, id: taskId } = carried.task;
  const holder = await findHolder({ tenantId, taskId }, threadId);
  if (holder?.liveness !== 'alive') return;
  refuse(failure('THREAD_BUSY', `thread ${threadId} is in use: ${holder.evidence.join('; ')}`, { taskId }));
}

async function acceptReopening(record: TaskRecord, reopen: ReopenRequest): Promise<ReopenAnswer> {
  const { dispatch } = reopen;
  if (dispatch === undefined) return record.perform((carried) => acceptReopen(carried, reopen));
  const attemptId = attemptIdOf(reopen);
  if (isOwnerUnproven(record.carried)) await proveGone(record);
  const relations = await readRelations(record);
  return record.perform((carried) => acceptReopen(carried, reopen, { dispatch, attemptId, relations }));
}

interface ReopenAnswer {
  readonly success: true;
  readonly taskId: string;
  readonly attemptId?: string;
}
