import { Command } from 'commander';
import type { StoppedTask } from '../client/index';
import { shellWord } from '../contract/shell';
import { note } from './output';
import { onInterrupt, perform, type CommonOptions } from './perform';
import { fields } from './table';

/** `perdure stop`: stops the run of a task and answers when nothing of it runs any more. */
export function stopCommand(): Command {
  return new Command('stop')
    .description('stop the run of a task, and wait until nothing of it is left')
    .argument('<id>', 'the task')
    .option('--reason <text>', 'why')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: CommonOptions & { reason?: string }) => {
      await perform<StoppedTask>(options, {
        work: async (session) => {
          const { stopTask } = await import('../client/index.js');
          onInterrupt(`The stop goes on if it was accepted. See it with: perdure why ${shellWord(taskId)}`);
          return stopTask(session, { taskId, ...(options.reason !== undefined && { reason: options.reason }) }, note);
        },
        lines: (stopped) =>
          fields({
            task: stopped.taskId,
            attempt: stopped.attemptId,
            outcome: stopped.outcome,
            status: stopped.taskStatus,
          }),
      });
    });
}
