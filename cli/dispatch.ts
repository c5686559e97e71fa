import { Command } from 'commander';
import type { Accepted, Settled } from '../client/index';
import { shellWord } from '../contract/shell';
import { note, type Style } from './output';
import { perform, type CommonOptions } from './perform';
import { settledLines, settledNotes, waitForRun } from './settled';
import { fields } from './table';
import { addRunOptions, settingsOf, type RunOptions } from './task-options';

interface DispatchOptions extends CommonOptions, RunOptions {
  readonly agent?: string;
  readonly wait?: boolean;
  readonly auto?: boolean;
  readonly check?: boolean;
  readonly replaceThread?: boolean;
}

/** `perdure dispatch`: asks for a run of a task; the caller records the outcome. */
export function dispatchCommand(): Command {
  const command = new Command('dispatch').description('start, resume, retry or reopen the run of a task');
  addRunOptions(command.argument('<id>', 'the task'))
    .option('--agent <id>', 'agent that executes it (default: general-purpose)')
    .option('--wait', 'wait for the settled result')
    .option('--auto', 'start by itself when what it depends on has completed')
    .option('--check', 'record the outcome by the acceptance criteria of the task, as `run` does')
    .option('--replace-thread', 'go on in a fresh thread')
    .option('--json', 'one JSON document on stdout');
  return command.action(async (taskId: string, options: DispatchOptions) => {
    await perform<Accepted | Settled>(options, {
      work: async (session) => {
        const { dispatchTask } = await import('../client/index.js');
        const accepted = await dispatchTask(session, { taskId, ...dispatchOf(options) });
        // What a project's queue or a dependency decides on later is no run to wait for (DS14).
        if (!accepted.success || options.wait !== true) return accepted;
        if (!('attemptId' in accepted)) return withoutWait(accepted);
        return waitForRun(session, accepted, options.json === true);
      },
      lines: dispatchLines,
      after: (outcome) => {
        settledNotes(outcome).forEach(note);
      },
    });
  });
}

function dispatchOf(options: DispatchOptions) {
  const { agent, auto, check, replaceThread } = options;
  return {
    ...settingsOf(options),
    ...(agent !== undefined && { agentId: agent }),
    // Nobody waits for it: its outcome is recorded by the acceptance criteria.
    ...(auto === true && { whenReady: true, completion: 'criteria' as const }),
    ...(check === true && { completion: 'criteria' as const }),
    ...(replaceThread === true && { replaceThread }),
  };
}

/** An accepted dispatch that begins later, with a word about the wait that was asked for. */
function withoutWait<T extends Accepted>(accepted: T): T {
  const how = `\`perdure watch ${shellWord(accepted.taskId)}\` shows where it stands`;
  const unwaited = `--wait waits for nothing here: it starts in its turn, not now; ${how}`;
  return { ...accepted, warnings: [...(accepted.warnings ?? []), unwaited] };
}

/** What a dispatch answered: where the run is, who has it, what it waits for, or how it settled. */
export function dispatchLines(answer: Accepted | Settled, style: Style): string[] {
  const { taskId: task } = answer;
  if ('attemptId' in answer) return fields({ task, attempt: answer.attemptId, mode: answer.mode });
  if ('managed' in answer) return fields({ task, queue: `project ${answer.projectId} runs it in its turn` });
  if ('waitsFor' in answer) return fields({ task, 'starts after': answer.waitsFor.join(', ') });
  return settledLines(answer, style);
}
