import { Command } from 'commander';
import type { CreatedTask, ShownTask } from '../client/index';
import { markStale } from './output';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';
import { noteCommand, reopenCommand, updateCommand } from './task-change';
import { taskLines } from './task-lines';
import { listCommand } from './task-list';
import { treeCommand } from './task-tree';
import { addDraftOptions, draftOf, type DraftOptions } from './task-options';
import { cancelCommand, completeCommand, failCommand, interruptCommand } from './task-outcome';

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
