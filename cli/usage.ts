import { CommanderError, type Command } from 'commander';
import { failure } from '../contract/failures';
import { jsonLine } from './escape';
import { EXIT } from './exit-code';
import { note, printLine } from './output';

/** A command line that means nothing; carries the usage line of the command that refused it. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly usage: string,
  ) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Whether a command line asks for JSON: known before it is parsed, because a refusal must be JSON as well. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** Makes every command of a tree report usage errors in one way instead of ending the process. */
export function guardUsage(command: Command): void {
  command.exitOverride();
  command.configureOutput({
    outputError: (message) => {
      const text = message
        .replace(/^error: /, '')
        .trim()
        .replace(/\s*\n\s*/g, ' ');
      throw new UsageError(taskHint(command, text) ?? text, usageLine(command));
    },
  });
  command.commands.forEach(guardUsage);
}

/** What an unknown command means that is one of `perdure task`; undefined when it is none. */
function taskHint(command: Command, text: string): string | undefined {
  const [unknown, name] = /^unknown command '([^']+)'/.exec(text) ?? [];
  const group = command.parent === null ? command.commands.find((each) => each.name() === 'task') : undefined;
  if (unknown === undefined || !group?.commands.some((each) => each.name() === name)) return undefined;
  return `${unknown} (Did you mean perdure task ${name ?? ''}?)`;
}

function usageLine(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `usage: ${names.join(' ')} ${command.usage()}`;
}

/** Handles what the parser threw: help and version are done, the rest is a usage error. Undefined: not the parser's. */
export function usageExit(error: unknown, isJson: boolean): number | undefined {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done;
    // The help that the parser printed says all that a person needs.
    const hint = 'usage: perdure <command> [options]';
    if (isJson) printLine(jsonLine(failure('USAGE', 'a command is missing', { hint })));
    return EXIT.usage;
  }
  return error instanceof UsageError ? reportUsage(isJson, error) : undefined;
}

function reportUsage(isJson: boolean, { message, usage }: UsageError): number {
  if (isJson) printLine(jsonLine(failure('USAGE', message, { hint: usage })));
  note(`perdure: ${message}`);
  note(usage);
  return EXIT.usage;
}
