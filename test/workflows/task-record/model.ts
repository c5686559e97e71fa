import type { RunMode, RunOutcome } from '../../../contract/run';
import type { TaskStatus } from '../../../contract/task';
import { threadOf, type Beginning, type Happening, type Request } from './story';

/** What a command comes to: done, nothing to do, the first answer again, or a refusal's code. */
export type Verdict = string;

/** What the model of a task knows: an independent and much smaller telling of the rules. */
export interface Model {
  readonly isAgents: boolean;
  status: TaskStatus;
  ownerId: string;
  thread: string | null;
  result: string | null;
  failureReason: string | null;
  requireReview: boolean;
  /** What goes on behind the record. */
  work: 'none' | 'run' | 'reopen' | 'reopenAndRun';
  reopening: { thread: string | null; replace: boolean };
  /** The run has ended well and its criteria are not checked yet. */
  isSettling: boolean;
  isStopped: boolean;
  hasIncident: boolean;
  lastOutcome: RunOutcome | null;
  byCriteria: boolean;
  attempts: { mode: RunMode; thread: string | null }[];
  activities: number;
  /** The decision of a review that the status comes from. */
  decided: string | null;
}

export const beginModel = ({ ownerType, ownerId, thread, requireReview }: Beginning): Model => ({
  isAgents: ownerType === 'agent',
  status: 'pending',
  ownerId,
  thread: thread === 'good' ? threadOf(0) : null,
  result: null,
  failureReason: null,
  requireReview,
  work: 'none',
  reopening: { thread: null, replace: false },
  isSettling: false,
  isStopped: false,
  hasIncident: false,
  lastOutcome: null,
  byCriteria: false,
  attempts: [],
  activities: 1,
  decided: null,
});

const isOver = ({ status }: Model) => status === 'completed' || status === 'cancelled';

function move(model: Model, status: TaskStatus, fields: Partial<Model> = {}): Verdict {
  if (status !== model.status) model.decided = null;
  Object.assign(model, { status, ...fields, activities: model.activities + 1 });
  return 'done';
}

function begin(model: Model, mode: RunMode): void {
  const thread = mode === 'resume' || mode === 'retry' ? model.thread : null;
  model.attempts.push({ mode, thread });
  Object.assign(model, { thread, work: 'run', ownerId: 'general-purpose', hasIncident: false, lastOutcome: null });
}

type Of<T, K> = Extract<T, { kind: K }>;
type Rule<C> = (model: Model, command: C, serial: number) => Verdict;

const setStatus: Rule<Of<Request, 'setStatus'>> = (model, { to, withText }, serial) => {
  const { status, work, requireReview } = model;
  if (!model.isAgents) return 'AGENT_TASK_REQUIRED';
  if (to === 'pending' && status === 'pending') return 'done';
  if (to === 'in_progress' && status === 'in_progress' && work === 'run') return 'done';
  if (!MAY[status].includes(to)) return 'TASK_STATUS_CONFLICT';
  const needsText = to === 'completed' || to === 'failed' || to === 'interrupted';
  if (needsText && !withText) return 'INVALID_ARGUMENT';
  if (to === 'completed') return move(model, requireReview ? 'review' : to, { result: `result q${String(serial)}` });
  if (to === 'failed') return move(model, to, { failureReason: `failure q${String(serial)}` });
  if (to === 'cancelled' && work === 'run') model.isStopped = true;
  return move(model, to);
};

/** What a caller may set, by where the task is (TS table); everything else is the engine's. */
const MAY: Record<TaskStatus, TaskStatus[]> = {
  pending: ['in_progress', 'cancelled'],
  interrupted: ['in_progress', 'cancelled'],
  failed: ['cancelled'],
  in_progress: ['completed', 'failed', 'interrupted', 'cancelled'],
  review: ['cancelled'],
  completed: [],
  cancelled: [],
};

const update: Rule<Of<Request, 'update'>> = (model, { change }, serial) => {
  if (change === 'nothing' || change === 'status' || change === 'oddThread') return 'INVALID_ARGUMENT';
  if (change === 'result') model.result = `result q${String(serial)}`;
  if (change === 'failureReason') model.failureReason = `failure q${String(serial)}`;
  if (change === 'review' || change === 'noReview') model.requireReview = change === 'review';
  if (change === 'owner') model.ownerId = 'somebody';
  if (change === 'thread' || change === 'blankThread') model.thread = change === 'thread' ? threadOf(serial) : null;
  return move(model, model.status);
};

const MODES = { pending: 'start', interrupted: 'resume', failed: 'retry' } as const;

const dispatch: Rule<Of<Request, 'dispatch'>> = (model, { agent, waits, criteria }) => {
  const { status } = model;
  const isBusy = model.isSettling || model.isStopped || model.work !== 'none';
  if (isBusy || status === 'in_progress') return 'TASK_NOT_DISPATCHABLE';
  if (status === 'review') return 'TASK_IN_REVIEW';
  if (!model.isAgents) return 'AGENT_TASK_REQUIRED';
  if (agent === 'nobody') return 'AGENT_NOT_FOUND';
  if (waits) return 'TASK_DEPENDENCIES_INCOMPLETE';
  model.byCriteria = criteria;
  if (status === 'completed' || status === 'cancelled') {
    Object.assign(model, { work: 'reopenAndRun', reopening: { thread: null, replace: true } });
    return 'done';
  }
  begin(model, MODES[status]);
  return move(model, 'in_progress', { isStopped: false });
};

const reopen: Rule<Of<Request, 'reopen'>> = (model, { replace, withThread }, serial) => {
  if (!isOver(model) || model.work !== 'none') return 'TASK_STATUS_CONFLICT';
  Object.assign(model, { work: 'reopen', reopening: { thread: withThread ? threadOf(serial) : null, replace } });
  return 'done';
};

const stop: Rule<Of<Request, 'stop'>> = (model) => {
  const { work, status, hasIncident, isSettling, lastOutcome } = model;
  const isLater = status === 'in_progress' && (hasIncident || isSettling);
  if (work === 'run' || work === 'reopenAndRun' || isLater) {
    model.isStopped = true;
    return 'done';
  }
  return lastOutcome === 'stopped' && status === 'interrupted' ? 'done' : 'TASK_NOT_RUNNING';
};

const decide: Rule<Of<Request, 'decide'>> = (model, { decision, incident }) => {
  if (decision === 'approve' || decision === 'send_back') {
    if (model.decided === decision) return 'done';
    if (model.status !== 'review') return 'NOTHING_TO_DECIDE';
    const fields = { decided: decision, ...(decision === 'send_back' && { result: null }) };
    return move(model, decision === 'approve' ? 'completed' : 'interrupted', fields);
  }
  if (!model.hasIncident || model.status !== 'in_progress') return 'NOTHING_TO_DECIDE';
  if (incident === 'other') return 'TASK_STATUS_CONFLICT';
  Object.assign(model, { hasIncident: false, isStopped: false });
  if (decision === 'accept') return move(model, 'completed', { result: model.result ?? 'accept' });
  if (decision === 'stop') return move(model, 'interrupted');
  return move(model, 'failed', { failureReason: 'abandoned' });
};

const settle: Rule<Of<Happening, 'settle'>> = (model, { outcome, withThread }, serial) => {
  const attempt = model.attempts.at(-1);
  if (model.work !== 'run' || attempt === undefined) return 'nothing';
  if (withThread) attempt.thread ??= threadOf(serial);
  model.thread = attempt.thread ?? model.thread;
  const isStopped = model.isStopped && outcome === 'interrupted_owner' && model.status === 'in_progress';
  Object.assign(model, { work: 'none', isStopped, lastOutcome: outcome });
  model.isSettling = outcome === 'completed' && model.byCriteria;
  if (outcome === 'interrupted_owner') model.hasIncident = true;
  if (model.status !== 'in_progress') return 'done';
  if (outcome === 'failed') return move(model, 'failed', { failureReason: 'it broke' });
  return outcome === 'stopped' ? move(model, 'interrupted') : 'done';
};

/** A stop that waited comes true. */
function confirm(model: Model): Verdict {
  const { hasIncident, isSettling } = model;
  Object.assign(model, { isSettling: false, isStopped: false });
  if (model.status !== 'in_progress') return 'done';
  return move(model, 'interrupted', { hasIncident: isSettling && hasIncident });
}

const judge: Rule<Of<Happening, 'judge'>> = (model, { met }) => {
  if (model.isStopped && model.work === 'none') return confirm(model);
  if (!model.isSettling) return 'nothing';
  model.isSettling = false;
  if (model.status !== 'in_progress') return 'done';
  if (met) return move(model, model.requireReview ? 'review' : 'completed', { result: 'observed' });
  return move(model, 'failed', { failureReason: 'CRITERIA_NOT_MET' });
};

const advance: Rule<Of<Happening, 'advance'>> = (model) => {
  const { work, reopening } = model;
  if (model.isSettling || work === 'none' || work === 'run') return 'nothing';
  if (model.thread === null || reopening.replace) model.thread = reopening.thread ?? model.thread;
  if (work === 'reopen') model.isStopped = false;
  model.work = 'none';
  if (work === 'reopenAndRun') begin(model, 'reopen');
  return move(model, 'in_progress', { result: null, failureReason: null });
};

const orphan: Rule<Of<Happening, 'orphan'>> = (model) => {
  if (model.status !== 'in_progress' || model.work !== 'none' || model.isSettling) return 'nothing';
  return move(model, 'failed', { failureReason: 'no_executor', hasIncident: false });
};

type Rules = { [K in (Request | Happening)['kind']]: Rule<Of<Request | Happening, K>> };
const RULES: Rules = {
  update,
  setStatus,
  note: (model) => move(model, model.status),
  dispatch,
  stop,
  reopen,
  decide,
  settle,
  judge,
  advance,
  orphan,
  crash: () => 'done',
};

/** What a command comes to by the rules; moves the model along. */
export const predict = (model: Model, command: Request | Happening, serial: number): Verdict =>
  (RULES[command.kind] as Rule<typeof command>)(model, command, serial);
