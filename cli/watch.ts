import { Command } from 'commander';
import type { WatchState } from '../client/index';
import type { Outcome } from '../contract/failures';
import { shellWord } from '../contract/shell';
import { jsonLine, oneLine } from './escape';
import { note, printFailure, printLine, styleFor } from './output';
import { onInterrupt, withSession, type CommonOptions } from './perform';

/** `perdure watch`: shows a task's state now and whenever it changes, until it is at rest. */
export function watchCommand(): Command {
  return new Command('watch')
    .description('follow a task until it is at rest')
    .argument('<id>', 'the task')
    .option('--json', 'one JSON document a line')
    .action(async (taskId: string, options: CommonOptions) => {
      const isJson = options.json === true;
      onInterrupt(`The task goes on. See it with: perdure watch ${shellWord(taskId)}`);
      const outcome = await withSession(async (session): Promise<Outcome<object>> => {
        const { toFailure, watchTask } = await import('../client/index.js');
        let last: WatchState | undefined;
        try {
          for await (const state of watchTask(session, taskId, { notify: note })) {
            printLine(isJson ? jsonLine({ success: true, ...state }) : stateLine(state));
            last = state;
          }
          // It ended by itself: the task is at rest.
          if (!isJson && last !== undefined) note(`next: ${last.next}`);
          return { success: true };
        } catch (error) {
          const known = toFailure(error, taskId);
          if (known === undefined) throw error;
          return { ...known, taskId };
        }
      });
      if (!outcome.success) printFailure(isJson, outcome);
    });
}

function stateLine({ status, attempt, sentence }: WatchState): string {
  const style = styleFor(process.stdout);
  const time = new Date().toISOString().slice(11, 19);
  const number = attempt === undefined ? '' : ` #${String(attempt.number)}`;
  return `${style.dim(time)} ${style.bold(oneLine(status))}${number} ${oneLine(sentence)}`;
}
