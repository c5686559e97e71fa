import { Command } from 'commander';
import type { Settled } from '../client/index';
import { note } from './output';
import { perform, type CommonOptions } from './perform';
import { settledLines, settledNotes, waitWithProgress } from './settled';
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
    await perform<Settled>(options, {
      work: async (session) => {
        const { runTask } = await import('../client/index.js');
        const accepted = await runTask(session, draft, settings);
        if (!accepted.success) return accepted;
        const isJson = options.json === true;
        const { taskId, attemptId, warnings: early = [] } = accepted;
        if (!isJson) note(`${taskId}: accepted as attempt ${attemptId}`);
        // A person learns at once that the run works on something else; a program finds all in the result.
        if (!isJson) for (const warning of early) note(`warning: ${warning}`);
        const settled = await waitWithProgress(session, accepted, isJson);
        const warnings = [...(isJson ? early : []), ...(settled.warnings ?? [])];
        return { ...settled, ...(warnings.length > 0 && { warnings }) };
      },
      lines: settledLines,
      after: (outcome) => {
        settledNotes(outcome).forEach(note);
      },
    });
  });
}
