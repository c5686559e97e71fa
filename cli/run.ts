import { Command } from 'commander';
import type { Accepted, Settled } from '../client/index';
import { dispatchLines } from './dispatch';
import { note } from './output';
import { perform, type CommonOptions } from './perform';
import { settledNotes, waitForRun } from './settled';
import {
  addDraftOptions,
  addRunOptions,
  draftOf,
  settingsOf,
  type DraftOptions,
  type RunOptions,
} from './task-options';

type Options = CommonOptions & DraftOptions & RunOptions & { readonly complete: boolean };

/** `perdure run`: creates a task, runs it, waits, and records the outcome by the acceptance criteria. */
export function runCommand(): Command {
  const command = new Command('run').description('create a task, run it and wait for the result');
  addRunOptions(addDraftOptions(command))
    .option('--no-complete', 'leave recording the outcome to a person')
    .option('--json', 'one JSON document on stdout');
  return command.action(async (options: Options) => {
    const draft = await draftOf(options);
    const settings = { ...settingsOf(options), completion: options.complete ? 'criteria' : 'caller' } as const;
    await perform<Settled | Accepted>(options, {
      work: async (session) => {
        const { runTask } = await import('../client/index.js');
        const accepted = await runTask(session, draft, settings);
        // Its turn comes later: a queue or a dependency decides when, and nobody waits here.
        if (!accepted.success || !('attemptId' in accepted)) return accepted;
        if (options.json !== true) note(`${accepted.taskId}: accepted as attempt ${accepted.attemptId}`);
        return waitForRun(session, accepted, options.json === true);
      },
      lines: dispatchLines,
      after: (outcome) => {
        settledNotes(outcome).forEach(note);
      },
    });
  });
}
