import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { failure, invalidArgument, type Failure } from '../../contract/failures';
import type { PhaseType } from '../../contract/names';
import { newCarried, phaseInputSchema, type PhaseInput } from '../../contract/new-task';
import { hasRelations, NO_RELATIONS } from '../../contract/relation';
import type { Carried } from '../../contract/run';
import { dispatchTask } from './dispatching';
import { refuse } from './refusal';
import { isRefusal, type Step } from './transitions';
import { attributesOf, whyOf } from './view';
import { overflowOf, type Overflow } from './window';

/** Updates that one run takes before it rolls over, by its rules: a run that is not in the cache is replayed whole. */
const UPDATES_PER_RUN = { 1: 1_000, 2: 200, 3: 200, 4: 200 } as const;
/** Characters of a title that lists show. */
const LISTED_TITLE = 200;

/** The moment of the current workflow task. */
export const now = (): string => new Date().toISOString();

/** Owns the carried state of one phase: every change goes through `commit`, so that operators see it at once. */
export class TaskRecord {
  private published: string;
  private title: string;
  private updates = 0;
  private isToRollOver = false;
  /** Requests that are being answered, by their id. */
  readonly inFlight = new Map<string, { digest: string; answer: Promise<object> }>();
  /** Whether a dispatch that waits for dependencies should look at them again. */
  isReadinessDue: boolean;

  constructor(
    readonly phase: PhaseType,
    private state: Carried,
  ) {
    this.published = JSON.stringify(attributesOf(state));
    this.title = state.task.title;
    this.isReadinessDue = state.awaiting !== null;
    this.show();
  }

  get carried(): Carried {
    return this.state;
  }

  /**
   * Changes the state as it is now; search attributes follow unless the phase is about to change, which sets them
   * anyway. It takes a function, because a state that was read before an await has missed the updates since.
   */
  commit(change: (carried: Carried) => Carried): void {
    this.conclude(change);
    this.publishTitle();
    if (this.phase === 'task' && this.state.intent !== null) return;
    const attributes = JSON.stringify(attributesOf(this.state));
    if (attributes === this.published) return;
    this.published = attributes;
    upsertSearchAttributes(attributesOf(this.state));
  }

  /** Changes the state as it is now in a way that the end of this phase makes visible. */
  conclude(change: (carried: Carried) => Carried): void {
    const before = this.state;
    this.state = change(before);
    const { awaiting, task } = this.state;
    if (awaiting !== before.awaiting || task.dependencies !== before.task.dependencies) this.isReadinessDue = true;
    this.show();
  }

  /** Performs a command on the state as it is now, and commits it; throws its refusal. */
  perform<A>(command: (carried: Carried) => Step<A>): A {
    const step = command(this.state);
    if (isRefusal(step)) return refuse(step);
    this.commit(() => step.carried);
    return step.answer;
  }

  countUpdate(): void {
    this.updates += 1;
  }

  /** Lets the next run take over as soon as it may. */
  rollOver(): void {
    this.isToRollOver = true;
  }

  /** Whether this run has taken so much that the next one should go on. */
  isFull(): boolean {
    return (
      this.isToRollOver ||
      this.updates >= UPDATES_PER_RUN[this.state.version] ||
      workflowInfo().continueAsNewSuggested ||
      this.overflow() !== null
    );
  }

  /** The parts of the record that should move to the store, or null while it is small. */
  overflow(): Overflow | null {
    return overflowOf(this.state);
  }

  /** Lists take the title from the memo, cut as at creation. */
  private publishTitle(): void {
    const { title } = this.state.task;
    if (title === this.title) return;
    this.title = title;
    upsertMemo({ title: [...title].slice(0, LISTED_TITLE).join('') });
  }

  private show(): void {
    setCurrentDetails(whyOf(this.state, this.phase).sentence);
  }
}

/**
 * Bad input of a caller ends the workflow at once. A record that an earlier run carried over is never given up: a plain
 * error fails the workflow task, which is tried again until a worker can read it.
 */
function unreadable(refusal: Failure): never {
  if (workflowInfo().continuedFromExecutionRunId === undefined) return refuse(refusal);
  throw new Error(`the record that was carried over cannot be read: ${refusal.error}`);
}

/** Opens the record that a phase was started with; bad input ends the workflow at once. */
export function openRecord(phase: PhaseType, input: PhaseInput): TaskRecord {
  const parsed = phaseInputSchema.safeParse(input);
  if (!parsed.success) return unreadable(invalidArgument(parsed.error));
  const given = parsed.data;
  if ('carried' in given) return new TaskRecord(phase, given.carried);
  const carried = newCarried(given.create, given.version);
  if (!('dispatch' in given)) return new TaskRecord(phase, { ...carried, awaiting: given.awaiting ?? null });
  const { dispatch, attemptId } = given;
  if (hasRelations(carried.task)) {
    return refuse(
      failure('INVALID_ARGUMENT', 'a task with a parent or dependencies is created first, then dispatched'),
    );
  }
  const step = dispatchTask(carried, { dispatch, attemptId, at: now(), relations: NO_RELATIONS });
  return isRefusal(step) ? refuse(step) : new TaskRecord(phase, step.carried);
}
