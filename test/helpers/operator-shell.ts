import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { temporalBinary } from './dev-server';
import type { LocalHome } from './local-home';
import { root } from './root';

/** What a command line said. */
export interface Said {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const querySchema = z.object({ queryResult: z.tuple([z.unknown()]) });
const listSchema = z.array(
  z.object({
    execution: z.object({ workflowId: z.string() }),
    status: z.literal('WORKFLOW_EXECUTION_STATUS_RUNNING'),
  }),
);

/** Both command lines as functions, so that a line runs exactly as it is documented. */
const FUNCTIONS = 'temporal() { "$TEMPORAL_BINARY" "$@"; }\nperdure() { "$NODE_BINARY" "$PERDURE_SCRIPT" "$@"; }\n';

/** A person's shell with `temporal` and `perdure` on it, against one server and one home. */
export class OperatorShell {
  private readonly env: NodeJS.ProcessEnv;

  constructor(
    address: string,
    private readonly home: LocalHome,
    env: NodeJS.ProcessEnv = {},
  ) {
    const binaries = { TEMPORAL_BINARY: temporalBinary(), NODE_BINARY: process.execPath };
    const own = { PERDURE_SCRIPT: join(root, 'bin', 'perdure.js'), PERDURE_HOME: home.path, TEMPORAL_ADDRESS: address };
    this.env = { PATH: process.env['PATH'], HOME: home.path, ...binaries, ...own, ...env };
  }

  async run(line: string): Promise<Said> {
    const child = spawn('sh', ['-c', FUNCTIONS + line], { env: this.env, cwd: this.home.path });
    child.stdin.end();
    const [[status], stdout, stderr] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
    return { status: Number(status), stdout, stderr };
  }

  /** Runs a line that must succeed, in its form for programs, and answers what it printed. */
  async json(line: string): Promise<unknown> {
    const { status, stdout, stderr } = await this.run(`${line} ${line.startsWith('temporal') ? '-o json' : '--json'}`);
    if (status !== 0) throw new Error(`${line} ended with ${String(status)}: ${stderr}${stdout}`);
    // Some plain commands print nothing for programs.
    return stdout.trim() === '' ? undefined : JSON.parse(stdout);
  }

  /** What a plain query answers. */
  async ask(query: string): Promise<unknown> {
    return querySchema.parse(await this.json(query)).queryResult[0];
  }

  /** Ids of the tasks of a plain list; throws when it holds a closed phase. */
  async running(list: string): Promise<string[]> {
    const runs = listSchema.parse(await this.json(list));
    return runs.map(({ execution }) => execution.workflowId.split('/').at(-1) ?? '').sort();
  }
}

/** A documented command, put to one of our tasks. */
export const about = (command: string | undefined, taskId: string): string => {
  if (command === undefined) throw new Error('the row has no such command');
  return command.replaceAll('T-1', taskId);
};

/** A value as the plain command line prints it: an empty list is null. */
export const asPlain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => (Array.isArray(each) && each.length === 0 ? null : each)));

/** A row of the README's table of what operators ask: the commands that answer it. */
export interface OperatorQuestion {
  readonly question: string;
  readonly ours: string[];
  readonly plain: string[];
}

/** Reads the table out of the README. */
export function operatorQuestions(): OperatorQuestion[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const section = readme.split(/^## /m).find((each) => each.startsWith('What operators ask')) ?? '';
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((row) => {
    const [question = '', ours = '', plain = ''] = row.split('|').slice(1, -1);
    return { question: question.trim(), ours: commandsIn(ours), plain: commandsIn(plain) };
  });
}

const commandsIn = (cell: string): string[] =>
  [...cell.matchAll(/`((?:perdure|temporal) [^`]+)`/g)].map(([, command = '']) => command);
