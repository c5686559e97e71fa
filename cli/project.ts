import { Argument, Command } from 'commander';
import type { Session, ShownProject } from '../client/index';
import type { Outcome } from '../contract/failures';
import { oneLine } from './escape';
import type { Style } from './output';
import { perform, type CommonOptions } from './perform';
import { fields } from './table';
import { integer } from './values';

type Work = (session: Session, id: string) => Promise<Outcome<ShownProject>>;

/** `perdure project`: the queues of projects. A task with `--meta projectId=ID` is run by the queue of that project. */
export function projectCommand(): Command {
  const group = new Command('project').description('show and steer the queues of projects');
  const limit = command('limit', 'set how many tasks run at once')
    .addArgument(new Argument('<n>', 'tasks, 1 to 1000').argParser(integer(1, 1_000)))
    .action((id: string, n: number, options: CommonOptions) =>
      show(id, options, async (session) => (await import('../client/index.js')).limitProject(session, id, n)),
    );
  const commands = [
    simple('show', 'show what runs and what waits', async (...of) =>
      (await import('../client/index.js')).showProject(...of),
    ),
    simple('pause', 'begin no more tasks', async (...of) => (await import('../client/index.js')).pauseProject(...of)),
    simple('resume', 'go on', async (...of) => (await import('../client/index.js')).resumeProject(...of)),
    limit,
  ];
  for (const each of commands) group.addCommand(each);
  return group;
}

const command = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .argument('<project>', 'id of the project')
    .option('--json', 'one JSON document on stdout');

const simple = (name: string, description: string, work: Work): Command =>
  command(name, description).action((id: string, options: CommonOptions) => show(id, options, work));

async function show(id: string, options: CommonOptions, work: Work): Promise<void> {
  await perform<ShownProject>(options, { work: (session) => work(session, id), lines: projectLines });
}

function projectLines({ project }: ShownProject, style: Style): string[] {
  const { id, limit, isPaused, running, starting, queue, refused } = project;
  return [
    ...fields({ project: id, state: isPaused ? 'paused' : 'open', limit: String(limit) }),
    ...running.map(({ taskId, since }) => `${style.green('runs')}   ${oneLine(taskId)}  since ${since}`),
    ...starting.map(({ taskId }) => `starts ${oneLine(taskId)}`),
    ...queue.map(({ taskId, priority }) => `waits  ${oneLine(taskId)}  ${priority}`),
    ...refused.map(({ taskId, code, at }) => style.dim(`left   ${oneLine(taskId)}  ${code} at ${at}`)),
  ];
}
