import { Command } from 'commander';
import type { TaskTree } from '../client/index';
import { oneLine } from './escape';
import { perform, type CommonOptions } from './perform';

/** `task tree`: a task and all tasks below it. */
export function treeCommand(): Command {
  return new Command('tree')
    .description('show a task and the tasks below it')
    .argument('<id>', 'the task')
    .option('--json', 'one JSON document on stdout')
    .action(async (id: string, options: CommonOptions) => {
      await perform<{ tree: TaskTree }>(options, {
        work: async (session) => {
          const { treeOfTask } = await import('../client/index.js');
          return treeOfTask(session, id);
        },
        lines: ({ tree }) => treeLines(tree, 0),
      });
    });
}

/** A task for people, one line each, indented below what it is a part of. */
export function treeLines({ id, title, status, children }: TaskTree, depth: number): string[] {
  return [
    `${'  '.repeat(depth)}${oneLine(id)}  ${status}  ${oneLine(title)}`,
    ...children.flatMap((child) => treeLines(child, depth + 1)),
  ];
}
