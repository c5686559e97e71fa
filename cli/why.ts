import { Command } from 'commander';
import type { Explanation, PendingActivity } from '../client/index';
import type { Executor } from '../contract/task';
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

/** An explanation for people: the sentence, then status, executor and what moves it on, then the evidence. */
export function whyLines(why: Explanation, style: Style): string[] {
  const { sentence, status, since, phase, attention, executor, next, facts, activities } = why;
  return [
    style.bold(oneLine(sentence)),
    ...fields({ status: `${status} since ${since}`, phase, attention, executor: executorText(executor), next }),
    ...facts.map((fact) => `- ${oneLine(fact)}`),
    ...activities.map((activity) => `- ${oneLine(activityText(activity))}`),
  ];
}

function executorText(executor: Executor | null): string {
  if (executor === null) return 'none';
  const { attemptId, hostId, threadId, startedAt } = executor;
  const since = startedAt === null ? 'start not known yet' : `since ${startedAt}`;
  return `attempt ${attemptId} on host ${hostId}, thread ${threadId ?? 'not known yet'}, ${since}`;
}

function activityText({ type, state, tries, lastHeartbeatAt }: PendingActivity): string {
  const beat = lastHeartbeatAt === undefined ? '' : `, last heartbeat ${lastHeartbeatAt}`;
  return `activity ${type} is ${state}, try ${String(tries)}${beat}`;
}
