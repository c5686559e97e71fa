import { Command } from 'commander';
import type { Incidents, ShownIncident } from '../client/index';
import { ASKING } from '../contract/attention';
import type { Incident, Snapshot, Stage } from '../contract/incident';
import { shellWord } from '../contract/shell';
import { block, oneLine } from './escape';
import type { Style } from './output';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';

/** `perdure incident`: what happened to attempts that a person has to judge. */
export function incidentCommand(): Command {
  const command = new Command('incident').description('see what happened to attempts that a person has to judge');
  command
    .command('list')
    .description('list the incidents of a task')
    .argument('<id>', 'the task')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: CommonOptions) => {
      await perform<Incidents>(options, {
        work: async (session) => (await import('../client/index.js')).listIncidents(session, taskId),
        lines: ({ incidents, dropped }, style) => [
          ...(dropped === undefined ? [] : [`${String(dropped)} earlier ones are only in the task's history`]),
          ...(incidents.length === 0 ? ['no incidents'] : incidents.map((each) => line(each, style))),
        ],
      });
    });
  command
    .command('show')
    .description('show an incident with what was saved of the attempt (default: the one that is open)')
    .argument('<id>', 'the task')
    .option('--incident <id>', 'the incident')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: CommonOptions & { readonly incident?: string }) => {
      await perform<ShownIncident>(options, {
        work: async (session) => (await import('../client/index.js')).showIncident(session, taskId, options.incident),
        lines: ({ taskId, incident }, style) => [...incidentLines(incident, style), ...nextLines(taskId, incident)],
      });
    });
  return command;
}

function line({ id, code, at, decidedAt, decision }: Incident, style: Style): string {
  const state = decidedAt === null ? 'open' : `decided ${decidedAt} (${decision ?? '?'})`;
  return `${style.bold(oneLine(id))}  ${code}  ${at}  ${state}`;
}

/** An incident for people: what happened and when, the evidence, then what was saved of the attempt. */
export function incidentLines(incident: Incident, style: Style): string[] {
  const { id, code, subject, at, decidedAt, decision, decidedBy, stages, evidence, snapshot } = incident;
  const decided = decidedAt === null ? 'not yet' : `${decision ?? '?'} by ${decidedBy ?? '?'}`;
  return [
    ...fields({ incident: id, code, attempt: subject, at, decided }),
    ...stages.map((stage) => stageLine(stage, subject)),
    ...evidence.map((each) => `- ${oneLine(each)}`),
    ...(snapshot ? snapshotLines(snapshot, style) : []),
  ];
}

const stageLine = ({ stage, at, attemptId }: Stage, subject: string): string =>
  oneLine(`${stage.padEnd(STAGE_WIDTH)}  ${at}${attemptId === subject ? '' : `  attempt ${attemptId}`}`);

const STAGE_WIDTH = 'evidence_saved'.length;

/** The commands that answer an open incident; what no decision answers closes by itself. */
export function nextLines(taskId: string, { id, code, decidedAt }: Incident): string[] {
  if (decidedAt !== null || !ASKING.includes(code)) return [];
  const about = `--incident ${shellWord(id)}`;
  const words = ['retry', 'accept', 'abandon', 'stop'].map(
    (word) => `perdure decide ${shellWord(taskId)} ${word} ${about}`,
  );
  return ['', ...words.map((word, index) => oneLine(`${index === 0 ? 'next' : '  or'}  ${word}`))];
}

function snapshotLines(snapshot: Snapshot, style: Style): string[] {
  const { lastMessage, events, openTools, changes, diff, diffBytes, directory, workspacePath } = snapshot;
  const part = (title: string, lines: string[]) => (lines.length === 0 ? [] : ['', style.bold(title), ...lines]);
  const cut = Buffer.byteLength(diff) < diffBytes ? [`(cut; ${String(diffBytes)} bytes in ${directory})`] : [];
  return [
    ...fields({ workspace: workspacePath, output: directory, 'tools running': String(openTools) }).map(style.dim),
    ...part('Last message', lastMessage === null ? [] : block(lastMessage, '  ')),
    ...part(
      'Last events',
      events.map((event) => `  ${oneLine(event)}`),
    ),
    ...part(
      'Changed files',
      changes.map((name) => `  ${oneLine(name)}`),
    ),
    ...part('Changes', diff === '' ? [] : [...block(diff, '  '), ...cut]),
  ];
}
