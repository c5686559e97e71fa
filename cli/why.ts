import { Command } from 'commander';
import type { Explanation, PendingActivity } from '../client/index';
import { oneLine } from './escape';
import { markStale, type Style } from './output';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';

/** `perdure why`: says what a task does or waits for, and the facts behind it. */
export function whyCommand(): Command {
  return new Command('why')
    .description('say what a task does or waits for')
    .argument('<id>', 'the task')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: CommonOptions) => {
      const answer = await perform<Explanation>(options, {
        work: async (session) => {
          const { explainTask } = await import('../client/index.js');
          return explainTask(session, taskId);
        },
        lines: whyLines,
      });
      if (answer !== undefined) markStale(answer);
    });
}

function whyLines(why: Explanation, style: Style): string[] {
  const { sentence, status, since, phase, attention, next, facts, activities } = why;
  return [
    style.bold(oneLine(sentence)),
    ...fields({ status: `${status} since ${since}`, phase, attention, next }),
    ...facts.map((fact) => `- ${oneLine(fact)}`),
    ...activities.map((activity) => `- ${oneLine(activityText(activity))}`),
  ];
}

function activityText({ type, state, tries, lastHeartbeatAt }: PendingActivity): string {
  const beat = lastHeartbeatAt === undefined ? '' : `, last heartbeat ${lastHeartbeatAt}`;
  return `activity ${type} is ${state}, try ${String(tries)}${beat}`;
}
