import { Context } from '@temporalio/activity';
import type { TaskKey } from '../../contract/names';
import type { Usage } from '../../contract/run';
import type { Escalation } from './process-ending';

/** Where a run was when it was last looked at; the files say the same, so nothing depends on it. */
export interface RunHeartbeat {
  readonly offset: number;
  readonly threadId: string | null;
  readonly usage: Usage | null;
  readonly lastActivityAt: string | null;
  readonly toolRunning: boolean;
}

/** Names the activity that follows a run. */
export interface ActivityKey {
  readonly workflowId: string;
  readonly runId: string;
  readonly activityId: string;
}

/** What following needs of an activity's context. */
export interface FollowContext {
  readonly cancelled: Promise<never>;
  readonly activity: ActivityKey;
  heartbeat(details: RunHeartbeat): void;
  isShuttingDown(): boolean;
}

/** Makes sure that a task's workspace is there; throws an Error whose `code` is a failure code. */
export interface Workspaces {
  ensure(task: TaskKey, repository: string | null): Promise<string>;
  /** What the workspace holds, as a digest; null when that cannot be told. */
  digestOf(task: TaskKey): Promise<string | null>;
}

export interface ProviderDeps {
  readonly home: string;
  readonly hostId: string;
  readonly env: NodeJS.ProcessEnv;
  /** Absolute path of the compiled runner. */
  readonly runnerEntry: string;
  /** Absolute path of the compiled program that takes a turn in an app server. */
  readonly turnEntry: string;
  readonly workspaces: Workspaces;
  readonly context?: () => FollowContext;
  readonly escalation?: Escalation;
  /** Clock in epoch milliseconds by which usage limits are judged; that of the host when absent. */
  readonly now?: () => number;
}

/** SIGTERM gives nothing that SIGKILL does not, so it gets little time. */
export const ESCALATION: Escalation = [5_000, 1_000];

/** The context of the Temporal activity that runs now. */
export function temporalContext(): FollowContext {
  const context = Context.current();
  const { workflowExecution, activityId } = context.info;
  return {
    cancelled: context.cancelled,
    activity: {
      workflowId: workflowExecution?.workflowId ?? '',
      runId: workflowExecution?.runId ?? '',
      activityId,
    },
    heartbeat: (details) => {
      context.heartbeat(details);
    },
    isShuttingDown: () => context.cancellationDetails?.workerShutdown === true,
  };
}
