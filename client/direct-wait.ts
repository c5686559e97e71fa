import type { DirectTask } from '../contract/direct';
import { failure, type Outcome } from '../contract/failures';
import { directHandle, seeDirect } from './direct-record';
import { outcomeOf, refuse } from './outcome';
import type { Session } from './session';
import { patiently, untilRunCloses, type Notify } from './wait';

/** A direct task that succeeded: what the provider said, and where it is recorded. */
export interface SettledDirect {
  readonly taskId: string;
  readonly status: DirectTask['status'];
  readonly attemptId?: string;
  readonly threadId: string | null;
  readonly repositoryPath: string;
  readonly result?: string;
  /** A bookkeeping failure beside the status. */
  readonly recoveryNote?: DirectTask['recoveryNote'];
  readonly warnings?: string[];
}

/** Waits until a direct task has ended or needs a person; it follows close events and costs nothing meanwhile. */
export async function waitDirect(session: Session, id: string, notify: Notify): Promise<Outcome<SettledDirect>> {
  const followed = await outcomeOf(() => followDirect(session, id, notify), id);
  return followed.success ? settleDirect(followed.direct) : followed;
}

const isSettled = ({ status }: DirectTask): boolean =>
  ['stopped', 'completed', 'failed', 'recovery_required'].includes(status);

/** Waits until a direct task has ended or needs a person, and gives its snapshot. */
export async function followDirect(session: Session, id: string, notify: Notify): Promise<{ direct: DirectTask }> {
  for (;;) {
    const { direct, runId, isOpen, stale } = await patiently(() => seeDirect(session, id), notify);
    if (isSettled(direct) && stale !== true) return { direct };
    if (!isOpen) {
      refuse('no_executor', `the workflow of direct task ${id} was ended from outside while it ran`, {
        hint: 'End what may run with `perdure direct stop`.',
        taskId: id,
      });
    }
    await patiently(async () => untilRunCloses(await directHandle(session, id, runId)), notify);
  }
}

/** The settled result of a direct task: a success only when it completed. */
export function settleDirect(direct: DirectTask): Outcome<SettledDirect> {
  const { id: taskId, status, handle, threadId, repositoryPath, result, recoveryNote, warnings } = direct;
  const common = {
    taskId,
    status,
    ...(handle !== null && { attemptId: handle.attemptId }),
    threadId,
    repositoryPath,
    ...(recoveryNote !== null && { recoveryNote }),
    ...(warnings.length > 0 && { warnings }),
  };
  if (status === 'completed') return { success: true, ...common, ...(result !== null && { result: result.text }) };
  const code = direct.code ?? (status === 'stopped' ? 'user_stopped' : 'RUN_FAILED');
  const error = direct.error ?? (status === 'stopped' ? 'it was stopped' : `it ended as ${status}`);
  return { ...failure(code, error, { ...HINTS[status], retryable: false }), ...common };
}

/** What comes next: a direct task never runs again by itself, so the hints of tasks do not fit. */
const HINTS: Partial<Record<DirectTask['status'], { hint: string }>> = {
  stopped: { hint: 'Look at what it did; what is left is another direct task.' },
  failed: { hint: 'Look at what it did; it is not tried again, start another direct task.' },
  recovery_required: {
    hint: 'Check what it did, then `perdure direct stop`, or `perdure direct decide` with accept or abandon.',
  },
};
