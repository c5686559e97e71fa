import { Command } from 'commander';
import type { Accepted, AttemptKey, Session, Settled } from '../client/index';
import type { Outcome } from '../contract/failures';
import { dispatchLines } from './dispatch';
import { note } from './output';
import { perform, type CommonOptions } from './perform';
import { settledNotes, waitWithProgress } from './settled';
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
        return waitForRun(session, accepted, options.json === true);
      },
      lines: dispatchLines,
      after: (outcome) => {
        settledNotes(outcome).forEach(note);
      },
    });
  });
}

async function waitForRun(
  session: Session,
  { taskId, attemptId, warnings: early = [] }: AttemptKey & { warnings?: string[] },
  isJson: boolean,
): Promise<Outcome<Settled>> {
  if (!isJson) note(`${taskId}: accepted as attempt ${attemptId}`);
  // A person learns at once that the run works on something else; a program finds all in the result.
  if (!isJson) for (const warning of early) note(`warning: ${warning}`);
  const settled = await waitWithProgress(session, { taskId, attemptId }, isJson);
  const warnings = [...(isJson ? early : []), ...(settled.warnings ?? [])];
  return { ...settled, ...(warnings.length > 0 && { warnings }) };
}
