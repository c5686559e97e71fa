import type { Attention } from '../../contract/attention';
import { SEARCH_ATTRIBUTE, type PhaseType } from '../../contract/names';
import type { Attempt, Carried } from '../../contract/run';
import { executorOf, type Why } from '../../contract/task';
import type { SearchAttributePair } from '@temporalio/common';
import { isHeld, openIncident, openReview, stopIncident } from './decisions';
import { budgetReason } from './delivery';
import { boundThread } from './dispatching';
import { claimOf } from './executor';
import { currentAttempt } from './attempt';
import { undeliveredNotes } from './undelivered';

/** Whether a run executes the task, or is about to: a reopening that only rests is none. */
export const isRunning = ({ intent }: Carried): boolean =>
  intent !== null && (intent.kind === 'run' || intent.then !== null);

/** When the attempt that is to follow may begin, or null when it has. */
const waitsUntil = ({ intent }: Carried): string | null =>
  intent?.kind === 'run' && !intent.isHandedOver ? intent.notBefore : null;

/** A run has ended and its receipt and criteria are still being seen to. */
export const isSettling = (attempt: Attempt | undefined): boolean =>
  attempt !== undefined && attempt.outcome !== null && attempt.settledAt === null;

/** Whether an accepted stop is still to be made true. */
const isStopping = (carried: Carried): boolean => carried.stop !== null && (carried.version > 3 || isRunning(carried));

/** Judges what a task needs from its record alone. */
export function attentionOf(carried: Carried): Attention {
  if (isStopping(carried)) return stopIncident(carried) === undefined ? 'stopping' : 'recovery';
  if (isRunning(carried)) return waitsUntil(carried) === null ? 'running' : 'waiting';
  if (isSettling(currentAttempt(carried))) return 'running';
  if (owesReceipt(carried)) return 'recovery';
  return attentionAtRest(carried);
}

const owesReceipt = ({ owedReceipts = [] }: Carried): boolean => owedReceipts.length > 0;

function attentionAtRest(carried: Carried): Attention {
  const { task } = carried;
  switch (task.status) {
    case 'in_progress':
      if (openIncident(carried) !== undefined) return 'recovery';
      return carried.version > 1 && claimOf(carried) !== null ? 'claimed' : 'outcome';
    case 'review':
      return 'review';
    case 'interrupted':
      return isHeld(carried) && carried.delivery?.pausedBy !== null ? 'budget' : 'input';
    case 'failed':
      return 'failed';
    default:
      return 'none';
  }
}

/** The search attributes that a record stands for. */
export function attributesOf(carried: Carried): SearchAttributePair[] {
  const { task } = carried;
  const project = task.metadata.projectId;
  const thread = boundThread(task);
  const keyword = (key: (typeof SEARCH_ATTRIBUTE)[keyof typeof SEARCH_ATTRIBUTE], value: string | null | undefined) =>
    typeof value === 'string' && value !== '' ? [{ key, value: value.slice(0, 200) }] : [];
  return [
    ...keyword(SEARCH_ATTRIBUTE.status, task.status),
    ...keyword(SEARCH_ATTRIBUTE.tenant, task.tenantId),
    ...keyword(SEARCH_ATTRIBUTE.agent, task.ownerId),
    ...keyword(SEARCH_ATTRIBUTE.host, task.workspace.hostId),
    ...keyword(SEARCH_ATTRIBUTE.attention, attentionOf(carried)),
    ...keyword(SEARCH_ATTRIBUTE.project, typeof project === 'string' ? project : null),
    ...keyword(SEARCH_ATTRIBUTE.parent, task.parentId),
    ...keyword(SEARCH_ATTRIBUTE.thread, thread),
  ];
}

/** One sentence about what a task does or waits for, what moves it on, and the facts behind it. */
export function whyOf(carried: Carried, phase: PhaseType): Why {
  const { task } = carried;
  const attempt = currentAttempt(carried);
  const attention = attentionOf(carried);
  const [sentence, next] = (carried.awaiting === null ? SENTENCES[attention] : WAITING)(carried, attempt);
  return {
    sentence,
    next,
    phase,
    status: task.status,
    since: task.statusSince,
    attention,
    executor: isRunning(carried) ? executorOf(attempt) : null,
    facts: [
      ...(attempt === undefined ? ['no run was ever started'] : attemptFacts(attempt)),
      ...deliveryFacts(carried),
      ...incidentFacts(carried),
      ...receiptFacts(carried),
      ...reviewFacts(carried),
      ...noteFacts(carried),
    ],
  };
}

type Sentence = (carried: Carried, attempt: Attempt | undefined) => [string, string];

const WAITING: Sentence = ({ task }) => [
  `The task is ${task.status}; it starts by itself as soon as all of these are completed: ${task.dependencies.join(', ')}.`,
  'the completion of what it depends on, or dispatch; stop takes that back',
];

const SENTENCES: Record<Attention, Sentence> = {
  none: ({ task }) =>
    task.status === 'pending'
      ? ['The task is pending: nobody has dispatched it.', 'dispatch']
      : [`The task is ${task.status} since ${task.statusSince}.`, 'nothing; dispatch would reopen it'],
  running: (carried, attempt) => [
    isSettling(attempt) && !isRunning(carried)
      ? `Attempt ${String(attempt?.number ?? 0)} has ended ${attempt?.outcome ?? ''}; its result is being recorded.`
      : `Attempt ${String(attempt?.number ?? 0)} (${attempt?.mode ?? 'reopen'}) runs on host ${attempt?.hostId ?? '?'}.`,
    'the end of the run, or stop',
  ],
  waiting: (carried, attempt) => [
    `Attempt ${String(attempt?.number ?? 0)} begins at ${waitsUntil(carried) ?? '?'}: ${waitReason(carried)}.`,
    'that time, or stop',
  ],
  stopping: ({ stop }) => [
    `A stop was accepted at ${stop?.at ?? '?'} from ${stop?.actor ?? '?'}; the processes are being ended.`,
    'the end of the processes',
  ],
  recovery: (carried, attempt) => {
    if (isStopping(carried)) return unconfirmed(carried, attempt);
    return attentionAtRest(carried) === 'recovery' ? unsettled(carried, attempt) : unreceipted(carried, attempt);
  },
  budget: (carried) => [
    `The delivery is ${lastSummary(carried)}.`,
    'decide --continue with more of it, which goes on in the same thread',
  ],
  outcome: ({ task }) => [
    task.activities.findLast(({ detail }) => detail.to !== undefined)?.detail.type === 'reopen'
      ? `The task was reopened at ${task.statusSince}, and nothing runs it.`
      : 'The run ended and nobody has recorded the outcome.',
    'task complete, task fail, or dispatch again',
  ],
  claimed: (carried) => {
    const claim = claimOf(carried);
    const run = claim?.runId ?? claim?.threadId;
    return [
      `The task is claimed by ${claim?.actor ?? '?'} ${run ? `for run ${run}` : 'without a run'}; nothing here runs it.`,
      'task complete, task fail, or dispatch (takes it over unless its run is alive)',
    ];
  },
  review: () => ['The result waits for a review.', 'decide approve, or decide send_back'],
  input: (carried) => [
    `The task is interrupted: ${lastSummary(carried)}`,
    isHeld(carried) ? 'decide --continue, with --note as the answer' : 'dispatch (resumes it)',
  ],
  failed: ({ task, delivery }) => [
    `The task failed: ${task.failureReason ?? ''}`,
    delivery !== null && budgetReason(delivery, false) !== null
      ? 'decide --continue with more budget'
      : 'dispatch (retries it)',
  ],
};

const lastSummary = ({ task }: Carried): string =>
  task.activities.findLast(({ detail }) => detail.to === 'interrupted')?.summary ?? '';

/** Why an attempt has to wait: how the one before it ended. */
function waitReason({ attempts }: Carried): string {
  const before = attempts.at(-2);
  if (before?.code === 'usage_limit') return "the account's usage limit is reset by then";
  return `attempt ${String(before?.number ?? 0)} failed (${before?.code ?? '?'})`;
}

function deliveryFacts({ delivery }: Carried): string[] {
  if (delivery === null) return [];
  const { budget, spent, fruitless, checkpoint, diagnostic, findings } = delivery;
  const of = (limit: number | null) => (limit === null ? '' : ` of ${String(limit)}`);
  const minutes = (ms: number) => Math.round(ms / 6_000) / 10;
  return [
    `delivery: ${String(spent.attempts)}${of(budget.attempts)} attempts, ${String(spent.tokens)}${of(budget.tokens)} tokens, ` +
      `${String(minutes(spent.timeMs))}${of(budget.timeMs === null ? null : minutes(budget.timeMs))} minutes, ` +
      `${String(fruitless)} of ${String(budget.progress)} in a row without progress`,
    ...(checkpoint === null ? [] : [`last checkpoint (${checkpoint.report.status}): ${checkpoint.report.summary}`]),
    ...(diagnostic === null ? [] : [`last report not accepted: ${diagnostic}`]),
    ...findings.map((finding) => `found missing: ${finding}`),
  ];
}

const unconfirmed: Sentence = ({ stop }, attempt) => [
  `recovery_required (stop_unconfirmed): the stop of ${stop?.at ?? '?'} from ${stop?.actor ?? '?'} is pending; host ` +
    `${attempt?.hostId ?? '?'} has not confirmed that the processes ended.`,
  'a worker on that host, which ends what is left',
];

const unsettled: Sentence = (carried, attempt) => [
  openIncident(carried)?.code === 'checkpoint_rejected'
    ? `The last reports of the agent were not accepted (${attempt?.error ?? ''}); nothing was started again.`
    : `The executor of attempt ${String(attempt?.number ?? 0)} died without a result; nothing was started again.`,
  'decide (retry, accept, abandon, stop), or dispatch (goes on in the same thread)',
];

/** What the task waits for otherwise stays true beside it (RQ-8, RQ-11). */
function unreceipted(carried: Carried, attempt: Attempt | undefined): [string, string] {
  const [sentence, next] = SENTENCES[attentionAtRest(carried)](carried, attempt);
  return [
    `recovery_required (receipt_storage_failed): a result is stored, its receipt is not. ${sentence}`,
    `the store on the orchestrator's host: the same receipt is queued again by itself; ${next}`,
  ];
}

function attemptFacts(attempt: Attempt): string[] {
  const { attemptId, number, mode, hostId, threadId, outcome, code, requestedAt, endedAt, tools } = attempt;
  return [
    `attempt ${String(number)} ${attemptId} (${mode}), asked for at ${requestedAt}`,
    `host ${hostId}`,
    `thread ${threadId ?? 'not known yet'}`,
    outcome === null ? 'not ended' : `ended ${outcome}${code === null ? '' : ` (${code})`} at ${endedAt ?? '?'}`,
    ...(tools === undefined ? [] : [`tools: ${String(tools.ran)} ran, ${String(tools.failed)} failed`]),
  ];
}

const incidentFacts = ({ incidents }: Carried): string[] =>
  incidents
    .filter(({ decidedAt }) => decidedAt === null)
    .map(({ id, code, at }) => `open incident ${id}: ${code} at ${at}`);

const receiptFacts = ({ owedReceipts = [] }: Carried): string[] =>
  owedReceipts.map(({ receiptId, resultRef }) => `receipt ${receiptId} of ${resultRef} is still to be stored`);

function reviewFacts(carried: Carried): string[] {
  const review = openReview(carried);
  return review === undefined ? [] : [`open review ${review}`];
}

function noteFacts(carried: Carried): string[] {
  const { length } = undeliveredNotes(carried);
  return length === 0 ? [] : [`notes that wait for the next run: ${String(length)}`];
}
