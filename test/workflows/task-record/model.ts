import fc from 'fast-check';
import { statusChangeSchema, taskStatus, type TaskStatus } from '../../../contract/task';
import { dispatchSchema, type Carried } from '../../../contract/run';
import { NO_RELATIONS } from '../../../contract/relation';
import { newCarried } from '../../../contract/new-task';
import { goodReport } from '../../helpers/fake-host';
import { newTask } from '../../helpers/stage';
import { addActivity } from '../../../workflows/task-record/commands';
import { acceptReopen, dispatchTask, reopenTask } from '../../../workflows/task-record/dispatching';
import { failOrphaned, settle } from '../../../workflows/task-record/settling';
import { setStatus } from '../../../workflows/task-record/status-change';
import { requestStop } from '../../../workflows/task-record/stopping';
import { isRefusal, type Step } from '../../../workflows/task-record/transitions';

export const AT = '2026-01-02T03:04:05.000Z';

/** What the model of a task knows: an independent and much smaller telling of the rules. */
export interface Model {
  status: TaskStatus;
  isRunning: boolean;
  completions: number;
  reopenings: number;
  attempts: number;
}

export type Command =
  | { kind: 'setStatus'; status: TaskStatus }
  | { kind: 'note' | 'dispatch' | 'reopen' | 'stop' | 'orphan' }
  | { kind: 'settle'; outcome: 'completed' | 'failed' | 'stopped' | 'interrupted_owner' };

export const commands: fc.Arbitrary<Command> = fc.oneof(
  fc.constantFrom(...taskStatus.options).map((status) => ({ kind: 'setStatus' as const, status })),
  fc.constantFrom('note', 'dispatch', 'dispatch', 'reopen', 'stop', 'orphan').map((kind) => ({ kind })),
  fc
    .constantFrom('completed', 'failed', 'stopped', 'interrupted_owner')
    .map((outcome) => ({ kind: 'settle' as const, outcome })),
);

export const begin = (): { carried: Carried; model: Model } => ({
  carried: newCarried(newTask()),
  model: { status: 'pending', isRunning: false, completions: 0, reopenings: 0, attempts: 0 },
});

const taken = <A>(carried: Carried, step: Step<A>): Carried => (isRefusal(step) ? carried : step.carried);
let serial = 0;
const uuid = () => `00000000-0000-4000-8000-${String((serial += 1)).padStart(12, '0')}`;

/** Runs a command on the real record. */
export function perform(carried: Carried, command: Command): Carried {
  const actor = 'tester';
  switch (command.kind) {
    case 'setStatus': {
      const text = { result: 'r', failureReason: 'f', summary: 's' };
      return taken(carried, setStatus(carried, statusChangeSchema.parse({ status: command.status, ...text }), AT));
    }
    case 'note':
      return taken(carried, addActivity(carried, { actor, summary: 'n' }, AT));
    case 'dispatch': {
      const dispatch = dispatchSchema.parse({ agentId: 'general-purpose' });
      const next = taken(
        carried,
        dispatchTask(carried, { dispatch, attemptId: uuid(), at: AT, relations: NO_RELATIONS }),
      );
      return reopenTask(next, { at: AT });
    }
    case 'reopen':
      return reopenTask(taken(carried, acceptReopen(carried, { actor, replaceThread: false })), { at: AT });
    case 'stop':
      return taken(carried, requestStop(carried, { actor }, AT));
    case 'orphan':
      if (carried.task.status !== 'in_progress' || carried.intent !== null) return carried;
      return failOrphaned(carried, ['proof'], { at: AT, actor });
    case 'settle': {
      const attempt = carried.attempts.at(-1);
      if (carried.intent === null || attempt === undefined) return carried;
      const order = { attemptId: attempt.attemptId, threadId: attempt.threadId };
      return settle(carried, goodReport(order, { outcome: command.outcome }), AT);
    }
  }
}

/** Runs a command on the model. */
export function predict(model: Model, command: Command): Model {
  const { status, isRunning } = model;
  const isTerminal = status === 'completed' || status === 'cancelled';
  switch (command.kind) {
    case 'note':
      return model;
    case 'setStatus':
      return predictStatus(model, command.status);
    case 'dispatch':
      if (isRunning || status === 'review' || status === 'in_progress') return model;
      return {
        ...model,
        status: 'in_progress',
        isRunning: true,
        attempts: model.attempts + 1,
        reopenings: model.reopenings + (isTerminal ? 1 : 0),
      };
    case 'reopen':
      if (!isTerminal || isRunning) return model;
      return { ...model, status: 'in_progress', reopenings: model.reopenings + 1 };
    case 'stop':
      return model;
    case 'orphan':
      return status === 'in_progress' && !isRunning ? { ...model, status: 'failed' } : model;
    case 'settle': {
      if (!isRunning) return model;
      const after = { completed: status, interrupted_owner: status, failed: 'failed', stopped: 'interrupted' } as const;
      const next = status === 'in_progress' ? after[command.outcome] : status;
      return { ...model, isRunning: false, status: next };
    }
  }
}

const MOVES: Record<TaskStatus, TaskStatus[]> = {
  pending: ['in_progress', 'cancelled'],
  interrupted: ['in_progress', 'cancelled'],
  failed: ['cancelled'],
  in_progress: ['completed', 'failed', 'interrupted', 'cancelled'],
  review: ['cancelled'],
  completed: [],
  cancelled: [],
};

function predictStatus(model: Model, to: TaskStatus): Model {
  if (!MOVES[model.status].includes(to)) return model;
  return { ...model, status: to, completions: model.completions + (to === 'completed' ? 1 : 0) };
}
