import { Command } from 'commander';
import type { StatusChange, TaskAnswer } from '../contract/task';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';

type Answer = Omit<TaskAnswer, 'success'>;

/** Prints the answer of a request that changed a task. */
export const answerLines = ({ taskId, status }: Answer): string[] => fields({ task: taskId, status });

interface OutcomeOptions extends CommonOptions {
  readonly result?: string;
  readonly reason?: string;
  readonly summary?: string;
  readonly executionResult?: string;
}

/** `task complete`: the criteria hold. */
export function completeCommand(): Command {
  return outcome('complete', 'record that a task is done')
    .requiredOption('--result <text>', 'what was achieved')
    .action((id: string, options: OutcomeOptions) => change(id, options, { status: 'completed', ...result(options) }));
}

/** `task fail`: it did not work out. */
export function failCommand(): Command {
  return outcome('fail', 'record that a task failed')
    .requiredOption('--reason <text>', 'why it failed')
    .action((id: string, options: OutcomeOptions) =>
      change(id, options, { status: 'failed', ...(options.reason !== undefined && { failureReason: options.reason }) }),
    );
}

/** `task interrupt`: it waits for something. */
export function interruptCommand(): Command {
  return outcome('interrupt', 'record that a task waits for input')
    .requiredOption('--summary <text>', 'what it waits for')
    .action((id: string, options: OutcomeOptions) =>
      change(id, options, {
        status: 'interrupted',
        ...(options.summary !== undefined && { summary: options.summary }),
      }),
    );
}

/** `task cancel`: it is no longer wanted; a run of it is stopped. */
export function cancelCommand(): Command {
  return outcome('cancel', 'cancel a task; a run of it is stopped')
    .option('--summary <text>', 'why')
    .action((id: string, options: OutcomeOptions) =>
      change(id, options, { status: 'cancelled', ...(options.summary !== undefined && { summary: options.summary }) }),
    );
}

const result = ({ result: text }: OutcomeOptions) => (text === undefined ? {} : { result: text });

function outcome(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<id>', 'the task')
    .option('--execution-result <id>', 'the run result that this is about')
    .option('--json', 'one JSON document on stdout');
}

async function change(id: string, options: OutcomeOptions, to: StatusChange): Promise<void> {
  const { executionResult } = options;
  await perform<Answer>(options, {
    work: async (session) => {
      const { setTaskStatus } = await import('../client/index.js');
      return setTaskStatus(session, id, {
        ...to,
        ...(executionResult !== undefined && { executionResultId: executionResult }),
      });
    },
    lines: answerLines,
  });
}
