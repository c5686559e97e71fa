import { Command } from 'commander';
import type { Settled } from '../client/index';
import type { DispatchAnswer } from '../contract/run';
import { note, type Style } from './output';
import { perform, type CommonOptions } from './perform';
import { settledLines, settledNotes, waitWithProgress } from './settled';
import { fields } from './table';
import { addRunOptions, settingsOf, type RunOptions } from './task-options';

type Options = CommonOptions & RunOptions & { readonly agent?: string; readonly wait?: boolean };
type Answer = Omit<DispatchAnswer, 'success'> | Settled;

/** `perdure dispatch`: asks for a run of a task; the caller records the outcome. */
export function dispatchCommand(): Command {
  const command = new Command('dispatch').description('start, resume, retry or reopen the run of a task');
  addRunOptions(command.argument('<id>', 'the task'))
    .option('--agent <id>', 'agent that executes it (default: general-purpose)')
    .option('--wait', 'wait for the settled result')
    .option('--json', 'one JSON document on stdout');
  return command.action(async (taskId: string, options: Options) => {
    await perform<Answer>(options, {
      work: async (session) => {
        const { dispatchTask } = await import('../client/index.js');
        const { agent } = options;
        const request = { taskId, ...settingsOf(options), ...(agent !== undefined && { agentId: agent }) };
        const accepted = await dispatchTask(session, request);
        if (!accepted.success || options.wait !== true) return accepted;
        for (const warning of accepted.warnings ?? []) note(`warning: ${warning}`);
        return waitWithProgress(session, accepted, options.json === true);
      },
      lines: dispatchLines,
      after: (outcome) => {
        settledNotes(outcome).forEach(note);
      },
    });
  });
}

/** What a dispatch answered: where the run is, or how it settled. */
export function dispatchLines(answer: Answer, style: Style): string[] {
  if (!('attemptId' in answer)) return settledLines(answer, style);
  return fields({ task: answer.taskId, attempt: answer.attemptId, mode: answer.mode });
}
