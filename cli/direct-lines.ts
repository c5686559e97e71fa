import type { DirectList, SettledDirect, ShownDirect, StartedDirect } from '../client/index';
import { shellWord } from '../contract/shell';
import { block, oneLine } from './escape';
import type { Style } from './output';
import { fields, table } from './table';

/** What a start answered, or the settled result: what the agent said, then where it stands. */
export function settledDirectLines(answer: StartedDirect | SettledDirect, style: Style): string[] {
  if (!('repositoryPath' in answer)) return fields({ task: answer.taskId, status: answer.status });
  const { taskId, status, threadId, repositoryPath, result, recoveryNote } = answer;
  return [
    ...(result === undefined ? [] : block(result, '')),
    ...fields({ task: taskId, status, thread: threadId, work: repositoryPath }).map(style.dim),
    ...(recoveryNote ? [style.yellow(oneLine(`bookkeeping: ${recoveryNote.code} at ${recoveryNote.at}`))] : []),
  ];
}

/** A direct task for people: its instruction, where it stands, and what it left to judge. */
export function directLines(direct: ShownDirect['direct'], style: Style): string[] {
  const { id, status, code, error, permissionMode, operation, repositoryPath, deadlineAt, invocationCount } = direct;
  const { handle, threadId, startedAt, endedAt, result, incidents, recoveryNote } = direct;
  return [
    ...block(direct.instruction, ''),
    ...fields({
      task: id,
      status: code === null ? status : `${status} (${code})`,
      error,
      mode: `${permissionMode}, ${operation}`,
      work: repositoryPath,
      deadline: deadlineAt,
      invocations: String(invocationCount),
      attempt: handle?.attemptId,
      thread: threadId,
      started: startedAt,
      ended: endedAt,
    }),
    ...incidents.flatMap(({ code: what, evidence }) => [
      style.yellow(what),
      ...evidence.flatMap((line) => block(line)),
    ]),
    ...(recoveryNote === null ? [] : [style.yellow(recoveryNote.code), ...recoveryNote.evidence.flatMap((line) => block(line))]), // prettier-ignore
    ...(result === null ? [] : ['', ...block(result.text, '')]),
    ...(status === 'recovery_required' ? ['', `next  ${oneLine(recoveryCommands(id))}`] : []),
  ];
}

/** What ends a direct task whose executor was lost. */
const recoveryCommands = (id: string): string =>
  `perdure direct stop ${shellWord(id)} , or perdure direct decide ${shellWord(id)} accept|abandon`;

/** Direct tasks as aligned lines, the newest first. */
export function directListLines(tasks: DirectList['tasks']): string[] {
  if (tasks.length === 0) return ['no direct tasks'];
  return table(tasks.map(({ id, status, startedAt, title }) => [id, status, startedAt, title]));
}
