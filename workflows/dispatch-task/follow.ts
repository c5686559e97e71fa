import {
  ActivityCancellationType,
  CancellationScope,
  isCancellation,
  proxyActivities,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { ProviderActivities, RunOrder, RunReport } from '../../contract/activities';
import { hostQueue } from '../../contract/names';

/**
 * Following is idempotent and outlives workers, so it is retried for ever. The heartbeat only bounds how long a lost
 * host process goes unnoticed by the server; a restarted worker takes over at once by itself. Longer means cheaper.
 */
const FOLLOW: ActivityOptions = {
  startToCloseTimeout: '30 days',
  heartbeatTimeout: '40 seconds',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 1.5, maximumInterval: '10 seconds' },
};

/** One attempt being followed on its host. */
export interface Following {
  /** The run's report, or null once it was let go of. */
  report(): Promise<RunReport | null>;
  /** Lets go of the run and leaves the provider alone. */
  letGo(): void;
}

/** Starts or adopts an attempt on its host and follows it to its end; detaching is not stopping. */
export function follow(order: RunOrder, hostId: string): Following {
  const { runProvider } = proxyActivities<ProviderActivities>({ ...FOLLOW, taskQueue: hostQueue(hostId) });
  let isLetGo = false;
  let scope: CancellationScope | undefined;
  return {
    report: () =>
      CancellationScope.nonCancellable(async () => {
        scope = new CancellationScope();
        try {
          return isLetGo ? null : await scope.run(() => runProvider(order));
        } catch (error) {
          if (isLetGo && isCancellation(error)) return null;
          throw error;
        }
      }),
    letGo() {
      isLetGo = true;
      scope?.cancel();
    },
  };
}
