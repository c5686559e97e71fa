import type { Failure } from '../contract/failures';
import { jsonLine, oneLine } from './escape';
import { EXIT, exitCodeOf } from './exit-code';

/** Colours on a terminal, plain text elsewhere. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** The style that a stream can show; NO_COLOR turns it off. */
export function styleFor(stream: { isTTY?: boolean | undefined }): Style {
  const { NO_COLOR, TERM } = process.env;
  const isPlain = stream.isTTY !== true || (NO_COLOR !== undefined && NO_COLOR !== '') || TERM === 'dumb';
  const paint = (open: number, close: number) => (text: string) =>
    isPlain ? text : `\u001b[${String(open)}m${text}\u001b[${String(close)}m`;
  return { bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), green: paint(32, 39), yellow: paint(33, 39) };
}

/** Writes a line to stdout: the answer, and nothing else. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a note to stderr: progress, warnings, troubles. */
export function note(line: string): void {
  process.stderr.write(`${oneLine(line)}\n`);
}

/** Prints an answer: one JSON document, or lines for people with the warnings on stderr. */
export function printAnswer(isJson: boolean, answer: object, lines: (style: Style) => string[]): void {
  if (isJson) {
    printLine(jsonLine(answer));
    return;
  }
  for (const line of lines(styleFor(process.stdout))) printLine(line);
  if ('warnings' in answer && Array.isArray(answer.warnings)) {
    for (const warning of answer.warnings) note(`warning: ${String(warning)}`);
  }
}

/** Prints a failure and sets the exit code that stands for it. */
export function printFailure(isJson: boolean, failure: Failure): void {
  process.exitCode = exitCodeOf(failure);
  if (isJson) {
    printLine(jsonLine(failure));
    return;
  }
  const style = styleFor(process.stderr);
  process.stderr.write(`${style.red('error')} ${oneLine(`${failure.code}: ${failure.error}`)}\n`);
  if (failure.hint !== undefined) process.stderr.write(`${style.dim(oneLine(`hint: ${failure.hint}`))}\n`);
  for (const warning of failure.warnings ?? []) note(`warning: ${warning}`);
}

/** Marks an answer that may be older than the truth: a note, and an exit code that says so. */
export function markStale(answer: { stale?: true }): void {
  if (answer.stale !== true) return;
  process.exitCode = EXIT.refused;
  note('stale: no worker answered; this is the last known state (start one with `perdure up` or `perdure worker`)');
}
