import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Project, QueuedTask } from '../../contract/project';
import { now } from '../task-record/record';
import { enqueue, nextOf, release } from './queue';

/** Signals, updates and starts that one run takes before it rolls over; the server's limits are far above. */
const TAKEN_PER_RUN = 1_000;

/** Owns the state of a project's queue, and what its present run has under way. */
export class ProjectQueue {
  /** Runs that settled before their start was answered. */
  private readonly settledEarly = new Set<string>();
  private taken = 0;
  /** Whether this run starts nothing more: it recovers what was before, or it ends. */
  isHeld = false;
  /** What people set in this run: it counts more than what an earlier queue had. */
  settings: Partial<Project> = {};

  constructor(
    private state: Project,
    /** Starts that are asked for at once. */
    private readonly starts: number,
  ) {
    this.show();
  }

  get project(): Project {
    return this.state;
  }

  change(change: (project: Project) => Project): void {
    this.taken += 1;
    this.state = change(this.state);
    this.show();
  }

  add(task: QueuedTask): void {
    this.change((project) => enqueue(project, task));
  }

  /** Frees the slot of a run, also of one whose start has not been answered yet. */
  free(attemptId: string): void {
    if (this.state.starting.length > 0) this.settledEarly.add(attemptId);
    this.change((project) => release(project, attemptId));
  }

  hasSettled(attemptId: string): boolean {
    return this.settledEarly.delete(attemptId);
  }

  /** The task that may begin now. */
  next(): QueuedTask | undefined {
    return this.isHeld ? undefined : nextOf(this.state, this.starts);
  }

  /** Lets the next run take over as soon as it may. */
  rollOver(): void {
    this.taken = TAKEN_PER_RUN;
  }

  isFull(): boolean {
    return this.taken >= TAKEN_PER_RUN || workflowInfo().continueAsNewSuggested;
  }

  private show(): void {
    const { id, limit, isPaused, queue, running } = this.state;
    const state = isPaused ? 'paused' : 'open';
    setCurrentDetails(
      `Project ${id} is ${state} at ${now()}: ${String(running.length)} of ${String(limit)} run, ${String(queue.length)} wait.`,
    );
  }
}
