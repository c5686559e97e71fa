import { Command, Option } from 'commander';
import { ATTENTIONS } from '../contract/attention';
import type { TaskFilter, TaskList } from '../client/index';
import { oneLine } from './escape';
import { markStale, note } from './output';
import { perform, type CommonOptions } from './perform';
import { listLines } from './task-lines';
import { integer } from './values';

const STATUSES = ['pending', 'in_progress', 'review', 'failed', 'interrupted', 'completed', 'cancelled'];

interface ListOptions extends CommonOptions, Omit<TaskFilter, 'query'> {
  /** A condition of the caller's own; true asks for the query that the filters stand for. */
  readonly query?: string | true;
}

/** `perdure task list`: every filter goes into one visibility query, which `--query` alone shows. */
export function listCommand(): Command {
  return new Command('list')
    .description('list tasks')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--agent <id>', 'only of this agent')
    .addOption(new Option('--attention <word>', 'only what needs this attention').choices(ATTENTIONS))
    .option('--project <id>', 'only of this project')
    .option('--parent <id>', 'only parts of this task')
    .option('--host <id>', 'only of this host')
    .option('--thread <id>', 'only what is bound to this thread')
    .option(
      '--query [condition]',
      'only what also meets this visibility condition; without one, show the query for `temporal workflow list`',
    )
    .option('--limit <n>', 'at most so many (default: 100)', integer(1, 10_000))
    .option('--json', 'one JSON document on stdout')
    .action(async ({ json = false, query, ...filters }: ListOptions) => {
      if (query === true && !json) return showQuery(filters);
      return showTasks({ json }, { ...filters, ...(typeof query === 'string' && { query }) });
    });
}

async function showQuery(filter: TaskFilter): Promise<void> {
  await perform<{ query: string }>(
    {},
    {
      work: async (session) => {
        const { queryOfList } = await import('../client/index.js');
        return queryOfList(session, filter);
      },
      lines: ({ query }) => [oneLine(query)],
    },
  );
}

async function showTasks(options: CommonOptions, filter: TaskFilter): Promise<void> {
  const answer = await perform<TaskList>(options, {
    work: async (session) => {
      const { listTasks } = await import('../client/index.js');
      return listTasks(session, filter);
    },
    lines: ({ tasks }, style) => listLines(tasks, style),
  });
  if (answer === undefined) return;
  if (answer.truncated === true) note('there are more; see --limit');
  markStale(answer);
}
