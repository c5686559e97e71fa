import { Command, Option } from 'commander';
import { ATTENTIONS } from '../contract/attention';
import type { CreatedTask, ListedTask, ShownTask } from '../client/index';
import { markStale, note } from './output';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';
import { noteCommand, reopenCommand, updateCommand } from './task-change';
import { listLines, taskLines } from './task-lines';
import { treeCommand } from './task-tree';
import { addDraftOptions, draftOf, type DraftOptions } from './task-options';
import { cancelCommand, completeCommand, failCommand, interruptCommand } from './task-outcome';
import { integer } from './values';

/** `perdure task`: everything about records. */
export function taskCommand(): Command {
  const group = new Command('task').description('create, read and change tasks');
  const commands = [createCommand(), showCommand(), listCommand(), treeCommand(), updateCommand(), noteCommand()];
  const outcomes = [completeCommand(), failCommand(), interruptCommand(), cancelCommand(), reopenCommand()];
  for (const command of [...commands, ...outcomes]) group.addCommand(command);
  return group;
}

function createCommand(): Command {
  return addDraftOptions(new Command('create').description('create a task; nothing is started'))
    .option('--json', 'one JSON document on stdout')
    .action(async (options: CommonOptions & DraftOptions) => {
      const draft = await draftOf(options);
      await perform<CreatedTask>(options, {
        work: async (session) => {
          const { createTask } = await import('../client/index.js');
          return createTask(session, draft);
        },
        lines: ({ task }) =>
          fields({ task: task.id, status: task.status, workspace: task.workspace.path ?? 'scratch repository' }),
      });
    });
}

function showCommand(): Command {
  return new Command('show')
    .description("show a task's whole record")
    .argument('<id>', 'the task')
    .option('--history', 'also the outcomes that reopenings set aside')
    .option('--json', 'one JSON document on stdout')
    .action(async (id: string, options: CommonOptions & { history?: boolean }) => {
      const answer = await perform<ShownTask>(options, {
        work: async (session) => {
          const { showTask } = await import('../client/index.js');
          return showTask(session, id, { withHistory: options.history === true });
        },
        lines: (shown, style) => taskLines(shown, style),
      });
      if (answer !== undefined) markStale(answer);
    });
}

const STATUSES = ['pending', 'in_progress', 'review', 'failed', 'interrupted', 'completed', 'cancelled'];

interface ListOptions extends CommonOptions {
  readonly status?: string;
  readonly agent?: string;
  readonly attention?: string;
  readonly project?: string;
  readonly parent?: string;
  readonly host?: string;
  readonly query?: string;
  readonly limit?: number;
}

function listCommand(): Command {
  return new Command('list')
    .description('list tasks')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--agent <id>', 'only of this agent')
    .addOption(new Option('--attention <word>', 'only what needs this attention').choices(ATTENTIONS))
    .option('--project <id>', 'only of this project')
    .option('--parent <id>', 'only parts of this task')
    .option('--host <id>', 'only of this host')
    .option('--query <condition>', 'only what also meets this visibility condition')
    .option('--limit <n>', 'at most so many (default: 100)', integer(1, 10_000))
    .option('--json', 'one JSON document on stdout')
    .action(async (options: ListOptions) => {
      const { json: _json, ...filter } = options;
      const answer = await perform<{ tasks: ListedTask[]; truncated?: true }>(options, {
        work: async (session) => {
          const { listTasks } = await import('../client/index.js');
          return listTasks(session, filter);
        },
        lines: ({ tasks }, style) => listLines(tasks, style),
      });
      if (answer?.truncated === true) note('there are more; see --limit');
    });
}
