import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { SearchAttributePair } from '@temporalio/common';
import {
  directInputSchema,
  isDeadlinePassed,
  type DirectInput,
  type DirectTask,
  type NewDirectTask,
} from '../../contract/direct';
import type { Attention } from '../../contract/attention';
import { failure, invalidArgument } from '../../contract/failures';
import { SEARCH_ATTRIBUTE } from '../../contract/names';
import { newDirectTask } from '../../contract/new-direct';
import { refuse } from '../task-record/refusal';
import { mergeAdoption } from './adoption';

/** Updates that one run takes before it rolls over; the server's limit is far above. */
const UPDATES_PER_RUN = 200;

const ATTENTION: Record<DirectTask['status'], Attention> = {
  queued: 'running',
  running: 'running',
  stopping: 'stopping',
  stopped: 'none',
  completed: 'none',
  failed: 'failed',
  recovery_required: 'recovery',
};

/** The search attributes that follow the status; the others are set once, at the start. */
const attributesOf = ({ status }: DirectTask): SearchAttributePair[] => [
  { key: SEARCH_ATTRIBUTE.status, value: status },
  { key: SEARCH_ATTRIBUTE.attention, value: ATTENTION[status] },
];

/** Owns the snapshot of one run: every change goes through `change`, so that operators see it at once. */
export class DirectRecord {
  private updates = 0;

  constructor(private state: DirectTask) {
    this.show();
  }

  get task(): DirectTask {
    return this.state;
  }

  change(change: (task: DirectTask) => DirectTask): void {
    const { status } = this.state;
    this.state = change(this.state);
    if (this.state.status === status) return;
    upsertSearchAttributes(attributesOf(this.state));
    this.show();
  }

  /** Lets the next run take over as soon as it may. */
  rollOver(): void {
    this.updates = UPDATES_PER_RUN;
  }

  countUpdate(): void {
    this.updates += 1;
  }

  /** Whether the next run should take over. */
  isFull(): boolean {
    return this.updates >= UPDATES_PER_RUN || workflowInfo().continueAsNewSuggested;
  }

  private show(): void {
    const { id, status, updatedAt, error } = this.state;
    setCurrentDetails(`Direct task ${id} is ${status} since ${updatedAt}${error === null ? '' : `: ${error}`}.`);
  }
}

/** Opens the record of a run: a new task, or the one that the run before was about. */
export function openDirect(input: DirectInput): DirectRecord {
  const parsed = directInputSchema.safeParse(input);
  if (!parsed.success) {
    // A snapshot that was carried over is never given up: the task fails and is tried again on newer workers.
    if ('carried' in input) throw new Error(`the snapshot cannot be read: ${invalidArgument(parsed.error).error}`);
    return refuse(invalidArgument(parsed.error));
  }
  return 'create' in parsed.data ? openNew(parsed.data.create) : adopt(parsed.data.carried);
}

function openNew(create: NewDirectTask): DirectRecord {
  if (isDeadlinePassed(create)) refuse(failure('deadline_passed', 'the deadline is over', { taskId: create.id }));
  return new DirectRecord(newDirectTask(create));
}

/** Takes over what the run before had under way: nothing is dispatched for it (DW-6). */
function adopt(carried: DirectTask): DirectRecord {
  const { id, handle, identity, stop, status } = carried;
  const adopted = mergeAdoption(null, {
    handle: { taskId: handle?.taskId ?? id, worktree: identity.worktree },
    snapshot: { id, state: status, stopRequested: stop !== null, metadata: carried },
    worker: status === 'recovery_required' ? status : 'running',
  });
  if ('success' in adopted) throw new Error(`direct task ${id} cannot be taken over: ${adopted.error}`);
  return new DirectRecord(adopted);
}
