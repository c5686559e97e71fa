import { Command } from 'commander';
import { failure, type Outcome } from '../contract/failures';
import type { AttemptLog, Session } from '../client/index';
import { shellWord } from '../contract/shell';
import { jsonLine } from './escape';
import { eventLines, parseEvent } from './event-lines';
import { note, printFailure, printLine } from './output';
import { onInterrupt, withSession, type CommonOptions } from './perform';
import { attemptId } from './values';

export interface LogOptions extends CommonOptions {
  readonly attempt?: string;
  readonly follow?: boolean;
  readonly raw?: boolean;
}

/** How much of a log one JSON document holds: its last events. */
const JSON_EVENTS = 1_000;
const JSON_CHARACTERS = 8 * 1024 * 1024;

/** `perdure logs`: shows what the provider printed in an attempt. */
export function logsCommand(): Command {
  return new Command('logs')
    .description("show the provider's events of an attempt")
    .argument('<id>', 'the task')
    .option('--attempt <id>', 'the attempt (default: the last one)', attemptId)
    .option('--follow', 'go on until the attempt has ended')
    .option('--raw', 'the lines as the provider printed them')
    .option('--json', 'one JSON document on stdout')
    .action((taskId: string, options: LogOptions) => showWith(options, (session) => showLog(session, taskId, options)));
}

/** Shows a log, by whatever finds it. */
export async function showWith(
  options: LogOptions,
  show: (session: Session) => Promise<Outcome<object>>,
): Promise<void> {
  const isJson = options.json === true;
  if (isJson && options.follow === true) {
    printFailure(true, failure('USAGE', '--follow and --json exclude each other', { hint: 'Use --follow --raw.' }));
    return;
  }
  const outcome = await withSession(show);
  if (!outcome.success) printFailure(isJson, outcome);
}

async function showLog(session: Session, taskId: string, options: LogOptions): Promise<Outcome<object>> {
  const { findLog } = await import('../client/index.js');
  return printFound(await findLog(session, taskId, options.attempt), options);
}

/** Prints a log that was found, in the form that the options ask for. */
export async function printFound(found: Outcome<AttemptLog>, options: LogOptions): Promise<Outcome<object>> {
  if (!found.success) return found;
  if (options.json === true) await printDocument(found);
  else await printLog(found, options);
  return { success: true };
}

async function printLog(log: AttemptLog, { follow, raw }: LogOptions): Promise<void> {
  const { readLog } = await import('../client/index.js');
  if (follow === true) onInterrupt(`The task goes on. See it with: perdure watch ${shellWord(log.taskId)}`);
  else note(`attempt ${log.attemptId}`);
  for await (const line of readLog(log, { follow: follow === true })) {
    for (const text of raw === true ? [line] : eventLines(line)) await printed(text);
  }
}

/** Prints a line and waits while the reader is slower than the file. */
async function printed(line: string): Promise<void> {
  if (process.stdout.write(`${line}\n`)) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}

async function printDocument(log: AttemptLog): Promise<void> {
  const { readLog } = await import('../client/index.js');
  let events: unknown[] = [];
  let sizes: number[] = [];
  let characters = 0;
  let left = 0;
  for await (const line of readLog(log, {})) {
    events.push(parseEvent(line) ?? line);
    sizes.push(line.length);
    characters += line.length;
    while (events.length > JSON_EVENTS || characters > JSON_CHARACTERS) {
      characters -= sizes[0] ?? 0;
      [events, sizes, left] = [events.slice(1), sizes.slice(1), left + 1];
    }
  }
  const { taskId, attemptId, path } = log;
  const omitted = left > 0 && { omitted: left };
  printLine(jsonLine({ success: true, taskId, attemptId, path, events, ...omitted }));
}
