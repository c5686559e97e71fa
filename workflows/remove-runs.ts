import { proxyActivities } from '@temporalio/workflow';
import type { ProviderActivities } from '../contract/activities';
import { invalidArgument } from '../contract/failures';
import { hostQueue } from '../contract/names';
import { removalSchema, type Removal } from '../contract/receipt-store';
import { refuse } from './task-record/refusal';

/** Has a host remove the output of attempts whose receipts went; it waits 30 days for a host that is away. */
export async function removeRuns(input: Removal): Promise<{ removed: number }> {
  const parsed = removalSchema.safeParse(input);
  if (!parsed.success) return refuse(invalidArgument(parsed.error));
  const { hostId, attemptIds } = parsed.data;
  const host = proxyActivities<ProviderActivities>({
    taskQueue: hostQueue(hostId),
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '30 days',
    retry: { initialInterval: '10 seconds', maximumInterval: '1 hour' },
  });
  return host.removeRuns({ attemptIds });
}
