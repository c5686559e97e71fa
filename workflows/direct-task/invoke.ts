import { condition, patched, workflowInfo } from '@temporalio/workflow';
import type { RunOrder, RunReport } from '../../contract/activities';
import { SANDBOX_OF, type DirectTask } from '../../contract/direct';
import { directWorkflowId } from '../../contract/names';
import { followHere } from '../dispatch-task/start-run';
import { CONFIRM_MS, stopWhenAsked } from '../dispatch-task/stop';
import { attemptIdFor } from '../task-record/attempt-id';
import { now } from '../task-record/record';
import { fnv1a } from '../task-record/requests';
import type { DirectRecord } from './direct-record';
import { directMessage } from './instruction';
import { aliasOf, begin, requestStop } from './state';

type Handle = NonNullable<DirectTask['handle']>;

/** Has the one invocation made, or adopts it; gives its report, or null when the next run of this workflow adopts it. */
export async function invoke(direct: DirectRecord): Promise<RunReport | null> {
  if (direct.task.handle === null) direct.change((task) => begin(task, attemptIdOf(task), now()));
  const { task } = direct;
  if (task.handle === null) throw new Error('a direct task was invoked without a handle');
  const over = { isOver: false };
  const run = followHere(orderOf(task, task.handle), task.hostId);
  const stopping = stopWhenAsked(() => direct.task.stop !== null, task.handle, over);
  stopAtDeadline(direct, over);
  const report = await Promise.race([run.report, condition(() => direct.isFull()).then(() => 'full' as const)]);
  over.isOver = true;
  if (report !== 'full') {
    await (direct.task.stop === null ? stopping : confirmedOrLate(stopping));
    return report;
  }
  run.letGo();
  // A stop under way is sent again by the next run: it is idempotent.
  return run.report;
}

/** A result waits no longer for the host to confirm the stop that came before it. */
async function confirmedOrLate(stopping: Promise<void>): Promise<void> {
  if (!patched('2026-11-stop-not-confirmed')) return stopping;
  const state = { isConfirmed: false };
  void stopping.then(() => (state.isConfirmed = true));
  await condition(() => state.isConfirmed, CONFIRM_MS);
}

interface Over {
  isOver: boolean;
}

/** Stops it at its deadline, which is an absolute time: neither a new run nor another worker moves it (DT-10, DT-13). */
function stopAtDeadline(direct: DirectRecord, over: Over): void {
  const { deadlineAt } = direct.task;
  if (deadlineAt === null) return;
  void condition(() => over.isOver, Math.max(Date.parse(deadlineAt) - Date.now(), 1)).then((isOver) => {
    if (!isOver) direct.change(reachDeadline);
  });
}

/** Asks for the stop that the deadline is. */
export const reachDeadline = (task: DirectTask): DirectTask =>
  requestStop(task, { actor: 'deadline', reason: 'deadline reached', cause: 'deadline' }, now());

/**
 * The attempt that this task always comes to, so that the fence knows it again after a reset, and when the record is
 * gone: the same id with the same content never starts a second provider (DW-18).
 */
function attemptIdOf(task: DirectTask): string {
  const {
    tenantId,
    id: taskId,
    instruction,
    hostId,
    repositoryPath,
    permissionMode,
    operation,
    model,
    limits,
    deadlineAt,
  } = task;
  const content = { instruction, hostId, repositoryPath, permissionMode, operation, model, limits, deadlineAt };
  return attemptIdFor(
    `${workflowInfo().namespace} ${directWorkflowId({ tenantId, taskId })}`,
    `${aliasOf(task)} ${fnv1a(JSON.stringify(content))}`,
  );
}

function orderOf(task: DirectTask, { attemptId }: Handle): RunOrder {
  const { id: taskId, tenantId, repositoryPath, permissionMode, model, limits, deadlineAt } = task;
  return {
    attemptId,
    task: { tenantId, taskId },
    mode: 'start',
    threadId: null,
    codexHome: null,
    message: directMessage(task),
    repository: repositoryPath,
    workspace: 'repository',
    ...(deadlineAt !== null && { deadlineAt }),
    policy: { sandbox: SANDBOX_OF[permissionMode], model },
    limits,
  };
}
