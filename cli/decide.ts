import { Argument, Command } from 'commander';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';
import { durationUpTo, integer } from './values';

const DECISIONS = ['retry', 'accept', 'abandon', 'stop', 'approve', 'send_back', 'continue'] as const;
type Decision = (typeof DECISIONS)[number];

interface Options extends CommonOptions {
  readonly continue?: boolean;
  readonly incident?: string;
  readonly review?: string;
  readonly note?: string;
  readonly tokens?: number;
  readonly time?: number;
  readonly timeBudget?: number;
  readonly attempts?: number;
}

/** `perdure decide`: a person's word about an incident, a review, or a delivery that waits. */
export function decideCommand(): Command {
  const command = new Command('decide')
    .description(
      'decide an incident (retry, accept, abandon, stop), a review (approve, send_back) or a delivery that waits (continue)',
    )
    .argument('<id>', 'the task')
    .addArgument(new Argument('[decision]', 'the decision').choices(DECISIONS))
    .option('--continue', 'the delivery goes on in the same thread')
    .option('--tokens <n>', 'continue: at least so many more tokens than it has used', integer(1, 1_000_000_000_000))
    .option('--time <duration>', 'continue: at least so much more run time, like 1h', durationUpTo('365d'))
    .option('--time-budget <duration>', 'the same as --time', durationUpTo('365d'))
    .option('--attempts <n>', 'continue: at least so many more attempts', integer(1, 1_000))
    .option('--incident <id>', 'the incident that you looked at (`perdure incident show` names it)')
    .option('--review <id>', 'the review that you looked at (`perdure why` names it)')
    .option('--note <text>', 'why; for a run that goes on, what to tell the agent')
    .option('--json', 'one JSON document on stdout');
  return command.action(async (taskId: string, given: Decision | undefined, options: Options) => {
    const decision = decisionOf(command, given, options);
    await perform<{ taskId: string; status: string; attemptId?: string }>(options, {
      work: async (session) => {
        const { decideTask } = await import('../client/index.js');
        return decideTask(session, taskId, { decision, ...detailsOf(options) });
      },
      lines: (answer) => fields({ task: answer.taskId, status: answer.status, attempt: answer.attemptId }),
    });
  });
}

/** One decision, by its name or by `--continue`; a budget is only given with the latter. */
function decisionOf(command: Command, given: Decision | undefined, options: Options): Decision {
  const decision = options.continue === true ? 'continue' : given;
  const isRaised = [options.tokens, options.time, options.timeBudget, options.attempts].some(
    (each) => each !== undefined,
  );
  if (decision === undefined) return command.error('error: name a decision, or give --continue');
  if (given !== undefined && given !== decision) return command.error(`error: --continue is not ${given}`);
  if (isRaised && decision !== 'continue') return command.error('error: a budget is given with --continue');
  return decision;
}

function detailsOf({ incident, review, note, tokens, timeBudget, time = timeBudget, attempts }: Options) {
  const raise = {
    ...(tokens !== undefined && { tokens }),
    ...(time !== undefined && { timeMs: time }),
    ...(attempts !== undefined && { attempts }),
  };
  return {
    ...(incident !== undefined && { incidentId: incident }),
    ...(review !== undefined && { reviewId: review }),
    ...(note !== undefined && { note }),
    ...(Object.keys(raise).length > 0 && { raise }),
  };
}
