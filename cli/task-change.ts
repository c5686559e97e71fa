import { Command, Option } from 'commander';
import type { Accepted } from '../client/index';
import type { TaskAnswer, TaskUpdate } from '../contract/task';
import { dispatchLines } from './dispatch';
import { perform, type CommonOptions } from './perform';
import { answerLines } from './task-outcome';
import { fields } from './table';
import { contentOf, type ContentOptions } from './task-options';
import { collect, collectText, pair, time } from './values';

type Answer = Omit<TaskAnswer, 'success'>;

interface UpdateOptions extends CommonOptions, ContentOptions {
  readonly title?: string;
  readonly agent?: string;
}

/** `task update`: changes content fields, never the status. */
export function updateCommand(): Command {
  const command = new Command('update');
  return command
    .description('change the content of a task; its status stays')
    .argument('<id>', 'the task')
    .option('--title <text>', 'what the task is, in one line')
    .option('--description <text>', 'goal and criteria, Markdown; - reads it from stdin')
    .option('--agent <id>', 'agent that owns the task')
    .option('--parent <id>', 'task that this one is a part of')
    .option('--depends-on <id>', 'task that this one needs; repeatable, replaces the list', collect)
    .option('--no-depends-on', 'it needs no other task any more')
    .option('--meta <key=value>', 'free data; repeatable, replaces all of it', pair)
    .option('--no-meta', 'no free data any more')
    .addOption(new Option('--priority <level>', 'how urgent').choices(['low', 'medium', 'high']))
    .option('--due <time>', 'due date, like 2026-12-31T17:00:00Z', time)
    .option('--require-review', 'a person reviews the result')
    .option('--no-require-review', 'no review')
    .option('--accept <command>', 'command that must exit 0; repeatable, replaces the list', collectText)
    .option('--no-accept', 'no acceptance commands any more')
    .option('--json', 'one JSON document on stdout')
    .action(async (id: string, options: UpdateOptions) => {
      const changes = await changesOf(options);
      if (Object.keys(changes).length === 0) command.error('error: name at least one field to change');
      await perform<Answer>(options, {
        work: async (session) => {
          const { updateTask } = await import('../client/index.js');
          return updateTask(session, id, changes);
        },
        lines: answerLines,
      });
    });
}

async function changesOf(options: UpdateOptions): Promise<TaskUpdate> {
  const { title, agent } = options;
  return {
    ...(title !== undefined && { title }),
    ...(agent !== undefined && { ownerId: agent }),
    ...(await contentOf(options)),
  };
}

/** `task note`: adds a note, in any status. */
export function noteCommand(): Command {
  return new Command('note')
    .description('add a note to a task, in any status')
    .argument('<id>', 'the task')
    .argument('<text>', 'the note')
    .option('--execution-result <id>', 'the run result that this is about')
    .option('--json', 'one JSON document on stdout')
    .action(async (id: string, summary: string, options: CommonOptions & { executionResult?: string }) => {
      const { executionResult: executionResultId } = options;
      await perform<Answer>(options, {
        work: async (session) => {
          const { noteTask } = await import('../client/index.js');
          return noteTask(session, id, { summary, ...(executionResultId !== undefined && { executionResultId }) });
        },
        lines: answerLines,
      });
    });
}

interface ReopenOptions extends CommonOptions {
  readonly keepThread?: boolean;
  readonly replaceThread?: boolean;
  readonly dispatch?: boolean;
}

/** `task reopen`: brings a finished task back, and runs it when asked to. */
export function reopenCommand(): Command {
  return new Command('reopen')
    .description('bring a completed or cancelled task back')
    .argument('<id>', 'the task')
    .addOption(new Option('--keep-thread', 'go on in its thread').conflicts('replaceThread'))
    .addOption(new Option('--replace-thread', 'go on in a fresh thread, which a run begins (default with --dispatch)'))
    .option('--dispatch', 'run it at once')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: ReopenOptions) => {
      await perform<{ taskId: string; warnings?: string[] } | Accepted>(options, {
        work: async (session) => {
          const { redispatchTask, reopenTask } = await import('../client/index.js');
          const keepThread = options.keepThread === true;
          if (options.dispatch === true) return redispatchTask(session, { taskId, keepThread });
          const reopened = await reopenTask(session, taskId, { replaceThread: options.replaceThread === true });
          return options.replaceThread === true ? { ...reopened, warnings: [KEPT] } : reopened;
        },
        lines: (answer, style) =>
          'attemptId' in answer ? dispatchLines(answer, style) : fields({ task: answer.taskId, status: 'in_progress' }),
      });
    });
}

const KEPT = 'without a run there is no fresh thread yet; dispatch it with --replace-thread';
