import type { EarlierOutcome, ListedTask, ShownTask } from '../client/index';
import { block, oneLine } from './escape';
import type { Style } from './output';
import { fields, table } from './table';

/** A task's whole record for people. */
export function taskLines({ task, workspacePath, history = [] }: ShownTask, style: Style): string[] {
  const { description, result, failureReason, activities, acceptance, context } = task;
  const section = (name: string, text: string | null | undefined): string[] =>
    text === null || text === undefined || text.trim() === '' ? [] : ['', style.bold(name), ...block(text)];
  return [
    style.bold(oneLine(`${task.id}  ${task.title}`)),
    ...fields({
      status: `${task.status} since ${task.statusSince}`,
      owner: `${task.ownerType} ${task.ownerId}`,
      workspace: `${task.workspace.path ?? 'scratch'} on ${task.workspace.hostId}`,
      work: workspacePath,
      thread: typeof context['thread_id'] === 'string' ? context['thread_id'] : undefined,
      priority: task.priority,
      due: task.dueDate,
      parent: task.parentId,
      'depends on': task.dependencies.join(', '),
      review: task.requireReview ? 'required' : undefined,
      metadata: Object.keys(task.metadata).length > 0 ? JSON.stringify(task.metadata) : undefined,
      created: task.createdAt,
      updated: task.updatedAt,
    }),
    ...section('description', description),
    ...section('accepted when', acceptance.join('\n')),
    ...section('result', result),
    ...section(task.status === 'failed' ? 'failure' : 'earlier failure', failureReason),
    ...section('earlier outcomes', history.map(outcomeLine).join('\n')),
    ...(activities.length === 0 ? [] : ['', style.bold('activities')]),
    ...table(activities.map(({ at, actor, summary }) => [` ${at}`, actor, summary])),
  ];
}

const outcomeLine = ({ status, since, result, failureReason, reopenedAt, reopenedBy }: EarlierOutcome): string =>
  `${status} since ${since}, reopened ${reopenedAt} by ${reopenedBy}: ${oneLine(result ?? failureReason ?? '-')}`;

/** Tasks for people, one line each. */
export function listLines(tasks: readonly ListedTask[], style: Style): string[] {
  if (tasks.length === 0) return ['no tasks'];
  const rows = tasks.map((task) => [
    task.id,
    task.status,
    task.attention ?? '-',
    task.agent ?? '-',
    task.startedAt.slice(0, 19),
    task.title,
  ]);
  const [head = '', ...rest] = table([['id', 'status', 'attention', 'agent', 'phase since', 'title'], ...rows]);
  return [style.bold(head), ...rest];
}
