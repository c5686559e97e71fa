import { criterionId } from '../../contract/checkpoint';
import type { Attempt, Carried } from '../../contract/run';
import { NO_RELATIONS, type RelatedTask, type Relations } from '../../contract/relation';
import type { Task } from '../../contract/task';
import { deliveryParts } from './delivery-message';
import { undeliveredNotes } from '../task-record/undelivered';
import { oneLine, quoted } from './quoting';

const WHY: Record<Attempt['mode'], string> = {
  start: '',
  reopen: 'This task was reopened: an earlier outcome was set aside.',
  resume: 'This run resumes the task: the last one was interrupted.',
  retry: 'This run retries the task: the last one failed.',
};

/** What every run of a task is told, in a fresh thread and in one that goes on (WM1 to WM4, WM13 to WM15). */
const INSTRUCTIONS = [
  'You execute the persisted task with the id below in this very run; it is assigned to you already.',
  'Do not dispatch this task: it runs, here. The tool `task` is for handing a child that you have created to somebody ' +
    'else.',
  'With the tool `manage_task`: `get` shows the contract; keep the record current; and once every acceptance criterion ' +
    'really holds, record that yourself by `set_status completed` with `result` and `beliefImpact`. When they do not ' +
    'hold, record `failed` or `interrupted` with the reason.',
  'Without `manage_task`, end with a message that says what was done and what is missing: it is your observation, and ' +
    'the caller records the outcome by it.',
];

/** What a run of a delivery is told instead: it proves nothing by its own word. */
const RUNS_HERE = INSTRUCTIONS.slice(0, 2);

function instructions({ purpose }: Attempt): string[] {
  if (purpose === 'review') return [];
  return purpose === 'work' ? RUNS_HERE : INSTRUCTIONS;
}

/**
 * The first message of a run (WM). On a thread that goes on, the task's text is in it already and is not sent again as
 * if it were new: the message says what became of the last run, and that its effects have to be checked first.
 */
export function workerMessage(
  carried: Carried,
  attempt: Attempt,
  { parent, dependencies }: Relations = NO_RELATIONS,
): string {
  const { task } = carried;
  const isContinued = attempt.threadId !== null;
  const parts = [
    ...why(attempt),
    ...(isContinued && !isNextStep(attempt) ? [continued(task)] : []),
    ...instructions(attempt),
    `Task id: ${task.id}`,
    `# ${oneLine(task.title)}`,
    ...(isContinued ? [] : [task.description?.trim() || 'No description was provided.']),
    ...(parent === null ? [] : [`## Parent task ${parent.id}: ${oneLine(parent.title)}\n\n${quoted(parent.text)}`]),
    ...(dependencies.length === 0 ? [] : [`## Completed dependencies\n\n${dependencies.map(dependency).join('\n\n')}`]),
    ...criteria(task, attempt.purpose !== undefined),
    ...newInput(carried, attempt),
    ...deliveryParts(carried, attempt),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Whether it goes on after a checkpoint: nothing was interrupted, nothing failed. */
const isNextStep = ({ firstAttemptId, mode }: Attempt): boolean => firstAttemptId !== undefined && mode === 'resume';

function why(attempt: Attempt): string[] {
  if (attempt.mode === 'start' || attempt.purpose === 'review') return [];
  return isNextStep(attempt) ? ['This run goes on with the task after your last checkpoint.'] : [WHY[attempt.mode]];
}

const dependency = ({ id, title, text }: RelatedTask): string => `### ${id}: ${oneLine(title)}\n\n${quoted(text)}`;

function continued({ failureReason, activities }: Task): string {
  const last = activities.findLast(({ detail }) => detail.to === 'interrupted' || detail.to === 'failed');
  const reason = failureReason ?? last?.summary;
  const cause = reason === undefined ? '' : `It ended with: ${oneLine(reason)}\n\n`;
  return (
    cause +
    'Check first what the last run has already done in the workspace, then go on from there. ' +
    'The description of the task stands earlier in this conversation.'
  );
}

function criteria({ acceptance }: Task, isSupervised: boolean): string[] {
  const named = (command: string, index: number) =>
    isSupervised ? `- ${criterionId(index)}: ${command}` : `- ${command}`;
  if (acceptance.length === 0) return [];
  return [`Acceptance criteria (commands that must exit 0 in the workspace):\n${acceptance.map(named).join('\n')}`];
}

/** What people said since the last run (RV8, WM11): for the worker, a review judges by the task. */
function newInput(carried: Carried, { purpose }: Attempt): string[] {
  if (purpose === 'review' && carried.version > 3) return [];
  const notes = undeliveredNotes(carried).map(({ summary }) => summary);
  return notes.length === 0 ? [] : [`New input:\n\n${notes.join('\n\n')}`];
}
