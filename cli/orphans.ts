import { Command } from 'commander';
import type { OrphanFinding, Sweep } from '../contract/orphan';
import { oneLine } from './escape';
import type { Style } from './output';
import { perform, type CommonOptions } from './perform';

interface OrphanOptions extends CommonOptions {
  readonly apply?: boolean;
}

/** `perdure orphans`: what says that it is in progress while nothing executes it; with --apply what is proven is mended. */
export function orphansCommand(): Command {
  return new Command('orphans')
    .description(
      'find tasks whose executor is gone: claimed by a run that died, or whose workflow was ended from outside',
    )
    .option('--apply', 'fail the ones that are proven dead, and bring ended workflows back')
    .option('--json', 'one JSON document on stdout')
    .action(async (options: OrphanOptions) => {
      await perform<Sweep>(options, {
        work: async (session) => {
          const { findOrphans } = await import('../client/index.js');
          return findOrphans(session, { apply: options.apply === true });
        },
        lines: ({ orphans }, style) =>
          orphans.length === 0 ? ['no orphans'] : orphans.flatMap((each) => lines(each, style)),
      });
    });
}

function lines({ taskId, kind, liveness, action, evidence }: OrphanFinding, style: Style): string[] {
  const word = kind === 'closed' ? 'workflow ended' : `executor ${liveness}`;
  return [`${style.bold(oneLine(taskId))}  ${word}  ${action}`, ...evidence.map((each) => `- ${oneLine(each)}`)];
}
