import { join } from 'node:path';
import { removeAcknowledged, type RemoveRuns } from '../activities/receipts/ledger';
import { beginDeliveries, forgetBegun, type BeginDelivery } from '../activities/receipts/outbox';
import { openStore, type Store } from '../activities/receipts/store';
import type { Home } from '../client/home';
import { messageOf } from '../client/outcome';
import { call, type Session } from '../client/session';
import { ORCHESTRATOR_QUEUE, receiptWorkflowId, removalWorkflowId, WORKFLOW } from '../contract/names';

const STEP_MS = 1_000;
const REMOVE_MS = 3_600_000;

/** Path of a home's receipt store. */
export const receiptsFile = (home: Home): string => join(home.path, 'receipts.db');

/** Begins the delivery of a receipt as a workflow of its own, unless it is under way. */
export const beginThrough =
  (session: Session, giveUpAfterMs: number): BeginDelivery =>
  async (receiptId) => {
    await call(session, (client) =>
      client.workflow.start(WORKFLOW.deliverReceipt, {
        workflowId: receiptWorkflowId(receiptId),
        taskQueue: ORCHESTRATOR_QUEUE,
        args: [{ receiptId, giveUpAfterMs }],
        // One that ended without a delivery may begin again; the store knows what is delivered.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    );
  };

/** Has a host remove the output of attempts by a workflow, which waits for the host. */
export const removeThrough =
  (session: Session): RemoveRuns =>
  async (hostId, attemptIds) => {
    await call(session, (client) =>
      client.workflow.start(WORKFLOW.removeRuns, {
        workflowId: removalWorkflowId(hostId, attemptIds[0] ?? ''),
        taskQueue: ORCHESTRATOR_QUEUE,
        args: [{ hostId, attemptIds }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    );
  };

interface OutboxOptions {
  readonly file: string;
  readonly removeRuns: RemoveRuns;
  /** Null where receipts go to no webhook. */
  readonly begin: BeginDelivery | null;
  now?(): Date;
}

/**
 * Looks into the store every second for receipts whose delivery is to be begun, and every hour for old acknowledged
 * ones. The store itself says what is to be done, so a crash at any point loses none, and a run has no part in it.
 */
export function startOutbox({ file, begin, removeRuns, now = () => new Date() }: OutboxOptions): {
  stop(): Promise<void>;
} {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let store: Store | undefined;
  let removedAt = Number.NEGATIVE_INFINITY;
  let trouble = '';

  const step = async (): Promise<void> => {
    store ??= await openAnew(file, begin !== null);
    if (begin !== null) await beginDeliveries(store, begin, now());
    if (now().getTime() - removedAt < REMOVE_MS) return;
    await removeAcknowledged(store, now(), removeRuns);
    removedAt = now().getTime();
  };
  const run = async (): Promise<void> => {
    try {
      await step();
      trouble = '';
    } catch (error) {
      // Once for as long as it lasts.
      if (trouble !== messageOf(error)) process.stderr.write(`perdure: receipts wait: ${messageOf(error)}\n`);
      trouble = messageOf(error);
    }
    if (!isStopped)
      timer = setTimeout(() => {
        running = run();
      }, STEP_MS);
  };
  let running = run();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
      await store?.destroy();
    },
  };
}

async function openAnew(file: string, isToBegin: boolean): Promise<Store> {
  const store = await openStore(file);
  if (isToBegin) await forgetBegun(store);
  return store;
}
