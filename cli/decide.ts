import { Argument, Command } from 'commander';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';

const DECISIONS = ['accept', 'abandon', 'approve', 'send_back'] as const;

interface Options extends CommonOptions {
  readonly incident?: string;
  readonly review?: string;
  readonly note?: string;
}

/** `perdure decide`: a person's word about an incident or a review. */
export function decideCommand(): Command {
  return new Command('decide')
    .description('decide an incident (accept, abandon) or a review (approve, send_back)')
    .argument('<id>', 'the task')
    .addArgument(new Argument('<decision>', 'the decision').choices(DECISIONS))
    .option('--incident <id>', 'the incident, when there are several')
    .option('--review <id>', 'the review that you looked at (`perdure why` names it)')
    .option('--note <text>', 'why')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, decision: (typeof DECISIONS)[number], options: Options) => {
      const { incident, review, note } = options;
      await perform<{ taskId: string; status: string }>(options, {
        work: async (session) => {
          const { decideTask } = await import('../client/index.js');
          return decideTask(session, taskId, {
            decision,
            ...(incident !== undefined && { incidentId: incident }),
            ...(review !== undefined && { reviewId: review }),
            ...(note !== undefined && { note }),
          });
        },
        lines: (answer) => fields({ task: answer.taskId, status: answer.status }),
      });
    });
}
