import type { Session } from '../../client/index';
import { taskHandle } from '../../client/session';

/** Who follows a task's run, as the server sees it. */
export interface Follower {
  /** Pid of the host worker that runs `runProvider` now; null while none does. */
  readonly pid: number | null;
  /** Tries of the activity, from 1. */
  readonly tries: number;
}

/** `PENDING_ACTIVITY_STATE_STARTED` of the Temporal API. */
const STARTED = 2;

/** Asks the server who follows the run of a task; undefined when it waits for no run. */
export async function followerOf(session: Session, taskId: string): Promise<Follower | undefined> {
  const handle = await taskHandle(session, taskId);
  const { raw } = await handle.describe();
  const activity = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'runProvider');
  if (activity === undefined) return undefined;
  const [, pid] = /^perdure-host (\d+)@/.exec(activity.lastWorkerIdentity ?? '') ?? [];
  const isStarted = Number(activity.state) === STARTED && pid !== undefined;
  return { pid: isStarted ? Number(pid) : null, tries: activity.attempt ?? 0 };
}
