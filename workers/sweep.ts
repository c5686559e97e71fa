import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleOptions } from '@temporalio/client';
import { call, type Session } from '../client/session';
import type { HomeConfig } from '../client/home';
import { toFailure } from '../client/outcome';
import { ORCHESTRATOR_QUEUE, SWEEP_SCHEDULE, WORKFLOW } from '../contract/names';

/**
 * Refuses to start where this process cannot read what the namespace's orchestrator has written: the schedule's input is
 * encrypted by the key that it used last. A start that fails loses nothing; activities that fail may use up their tries.
 */
export async function ensureKeys(session: Session): Promise<void> {
  try {
    await call(session, ({ schedule }) => schedule.getHandle(SWEEP_SCHEDULE).describe());
  } catch (error) {
    // Without the schedule, or the right to see it, there is nothing to compare with.
    if (toFailure(error)?.code === 'PAYLOAD_KEY_MISSING') throw error;
  }
}

/**
 * Installs the schedule that looks for orphans, one per namespace, or sets it to the interval of this home. It lists by
 * visibility and asks only tasks that somebody claimed or ended: an idle task costs nothing.
 */
export async function ensureSweep(session: Session, { intervalMs }: HomeConfig['sweep']): Promise<void> {
  const spec = { intervals: [{ every: Math.max(intervalMs, 1_000) }] };
  const state = { paused: intervalMs === 0 };
  try {
    await call(session, ({ schedule }) => schedule.create({ ...SCHEDULE, spec, state }));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await call(session, ({ schedule }) =>
      schedule.getHandle(SWEEP_SCHEDULE).update((known) => ({ ...known, spec, state: { ...known.state, ...state } })),
    );
  }
}

const SCHEDULE: Omit<ScheduleOptions, 'spec' | 'state'> = {
  scheduleId: SWEEP_SCHEDULE,
  action: {
    type: 'startWorkflow',
    workflowType: WORKFLOW.sweepOrphans,
    workflowId: 'sweep/scheduled',
    taskQueue: ORCHESTRATOR_QUEUE,
    args: [{}],
    workflowExecutionTimeout: '1 hour',
  },
  // A sweep that was missed while no worker was there is made up for by the next one.
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
};
