import { Argument, Command, Option } from 'commander';
import { DIRECT_STATUSES, OPERATIONS, PERMISSION_MODES } from '../contract/direct';
import { shellWord } from '../contract/shell';
import type { DirectDraft, Session, SettledDirect, StartedDirect } from '../client/index';
import { directLines, directListLines, settledDirectLines } from './direct-lines';
import { printFound, showWith, type LogOptions } from './logs';
import { markStale, note } from './output';
import { onInterrupt, perform, type CommonOptions } from './perform';
import { fields } from './table';
import { readStdin } from './task-options';
import { durationUpTo, integer, time } from './values';

const JSON_OPTION = ['--json', 'one JSON document on stdout'] as const;

/** `perdure direct`: one bounded instruction, run once in a repository itself, and never again by itself. */
export function directCommand(): Command {
  const group = new Command('direct').description('run one bounded instruction once, in a repository itself');
  const commands = [runCommand(), showCommand(), stopCommand(), listCommand(), decideCommand(), logsCommand()];
  for (const each of commands) group.addCommand(each);
  return group;
}

interface RunOptions extends CommonOptions {
  readonly repo: string;
  readonly mode: string;
  readonly operation?: string;
  readonly deadline?: string;
  readonly timeLimit?: number;
  readonly inactivity?: number;
  readonly model?: string;
  readonly fullAccess?: boolean;
  readonly id?: string;
  readonly wait: boolean;
}

function runCommand(): Command {
  const command = new Command('run');
  return command
    .description('run an instruction once and wait for its end')
    .argument('<instruction>', 'what is to be done; - reads it from stdin')
    .requiredOption('--repo <dir>', 'directory in a git repository; it is worked in itself')
    .addOption(new Option('--mode <mode>', 'permission mode').choices(PERMISSION_MODES).makeOptionMandatory())
    .addOption(new Option('--operation <kind>', 'kind of work (default: implement)').choices(OPERATIONS))
    .option('--deadline <time>', 'when it is stopped at the latest, like 2026-12-31T17:00:00Z', time)
    .option('--time-limit <duration>', 'longest run, like 30m (1s to 7d)', durationUpTo('7d'))
    .option('--inactivity <duration>', 'longest silence, like 5m (1s to 24h)', durationUpTo('24h'))
    .option('--model <name>', "the provider's model")
    .option('--full-access', 'allow --mode full-access')
    .option('--id <id>', 'id of the task; made up when left out')
    .option('--no-wait', 'answer when it is accepted')
    .option(...JSON_OPTION)
    .action(async (instruction: string, options: RunOptions) => {
      if (options.mode === 'full-access' && options.fullAccess !== true) {
        command.error('error: --mode full-access needs --full-access as well');
      }
      const draft = draftOf(instruction === '-' ? await readStdin() : instruction, options);
      await perform<StartedDirect | SettledDirect>(options, {
        work: (session) => run(session, draft, options),
        lines: settledDirectLines,
      });
    });
}

function draftOf(instruction: string, options: RunOptions): DirectDraft {
  const { repo, mode, operation, deadline, timeLimit, inactivity, model, fullAccess, id } = options;
  return {
    instruction,
    repository: repo,
    permissionMode: mode,
    ...(operation !== undefined && { operation }),
    ...(deadline !== undefined && { deadlineAt: deadline }),
    limits: {
      ...(timeLimit !== undefined && { timeMs: timeLimit }),
      ...(inactivity !== undefined && { inactivityMs: inactivity }),
    },
    ...(model !== undefined && { model }),
    ...(fullAccess === true && { allowFullAccess: true }),
    ...(id !== undefined && { id }),
  };
}

async function run(session: Session, draft: DirectDraft, { wait, json = false }: RunOptions) {
  const { startDirect, waitDirect } = await import('../client/index.js');
  const started = await startDirect(session, draft);
  if (!started.success || !wait) return started;
  const { taskId, warnings: early = [] } = started;
  if (!json) {
    note(`${taskId}: accepted`);
    for (const warning of early) note(`warning: ${warning}`);
  }
  onInterrupt(
    `It goes on. See it with: perdure direct show ${shellWord(taskId)}; end it with: perdure direct stop ${shellWord(taskId)}`,
  );
  const settled = await waitDirect(session, taskId, note);
  const warnings = [...(json ? early : []), ...(settled.warnings ?? [])];
  return { ...settled, ...(warnings.length > 0 && { warnings }) };
}

const named = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .argument('<id>', 'the direct task')
    .option(...JSON_OPTION);

function showCommand(): Command {
  return named('show', 'show a direct task and its result').action(async (id: string, options: CommonOptions) => {
    const answer = await perform(options, {
      work: async (session) => (await import('../client/index.js')).showDirect(session, id),
      lines: ({ direct }, style) => directLines(direct, style),
    });
    if (answer !== undefined) markStale(answer);
  });
}

function stopCommand(): Command {
  return named('stop', 'stop a direct task, and wait until nothing of it is left')
    .option('--reason <text>', 'why')
    .action(async (id: string, options: CommonOptions & { reason?: string }) => {
      await perform(options, {
        work: async (session) => {
          const { stopDirect } = await import('../client/index.js');
          onInterrupt(`The stop goes on if it was accepted. See it with: perdure direct show ${shellWord(id)}`);
          return stopDirect(session, { id, ...(options.reason !== undefined && { reason: options.reason }) }, note);
        },
        lines: ({ taskId, status, changed }) => fields({ task: taskId, status, changed: changed ? 'yes' : 'no' }),
      });
    });
}

interface ListOptions extends CommonOptions {
  readonly status?: string;
  readonly host?: string;
  readonly limit?: number;
}

function listCommand(): Command {
  return new Command('list')
    .description('list direct tasks, ended ones as well')
    .addOption(new Option('--status <status>', 'only this status').choices(DIRECT_STATUSES))
    .option('--host <id>', 'only of this host')
    .option('--limit <n>', 'at most so many (default: 100)', integer(1, 10_000))
    .option(...JSON_OPTION)
    .action(async ({ json = false, ...filter }: ListOptions) => {
      const answer = await perform(
        { json },
        {
          work: async (session) => (await import('../client/index.js')).listDirect(session, filter),
          lines: ({ tasks }) => directListLines(tasks),
        },
      );
      if (answer === undefined) return;
      if (answer.truncated === true) note('there are more; see --limit');
      markStale(answer);
    });
}

const DECISIONS = ['accept', 'abandon'] as const;

function decideCommand(): Command {
  return named('decide', 'say what became of a direct task whose executor was lost')
    .addArgument(new Argument('<decision>', 'the decision').choices(DECISIONS))
    .option('--note <text>', 'why')
    .action(async (id: string, decision: (typeof DECISIONS)[number], options: CommonOptions & { note?: string }) => {
      const { note: words } = options;
      await perform(options, {
        work: async (session) => {
          const { decideDirect } = await import('../client/index.js');
          return decideDirect(session, id, { decision, ...(words !== undefined && { note: words }) });
        },
        lines: ({ taskId, status }) => fields({ task: taskId, status }),
      });
    });
}

function logsCommand(): Command {
  return named('logs', "show the provider's events")
    .option('--follow', 'go on until it has ended')
    .option('--raw', 'the lines as the provider printed them')
    .action((id: string, options: LogOptions) =>
      showWith(options, async (session) => {
        const { findDirectLog } = await import('../client/index.js');
        return printFound(await findDirectLog(session, id), options);
      }),
    );
}
