import type { Outcome } from '../contract/failures';
import type { OpenHome, Session } from '../client/index';
import { EXIT } from './exit-code';
import { note, printAnswer, printFailure, type Style } from './output';

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
}

/** One command: its call into the client, and how a person reads the answer. */
export interface Performance<T> {
  work(session: Session): Promise<Outcome<T>>;
  lines(answer: T, style: Style): string[];
  /** Adds notes for a person, after the answer or the failure. */
  after?(outcome: Outcome<T>): void;
}

/** Runs a command on a session and prints what it answers; resolves with the answer when it was a success. */
export async function perform<T extends object>(
  { json: isJson = false }: CommonOptions,
  { work, lines, after }: Performance<T>,
): Promise<T | undefined> {
  const outcome = await withSession(work);
  if (outcome.success) printAnswer(isJson, outcome, (style) => lines(outcome, style));
  else printFailure(isJson, outcome);
  if (!isJson) after?.(outcome);
  return outcome.success ? outcome : undefined;
}

/** Opens a session, lends it, and closes it whatever happens. */
export async function withSession<T>(
  work: (session: Session) => Promise<Outcome<T>>,
  how: OpenHome = {},
): Promise<Outcome<T>> {
  const { hintAtDirect, openSession } = await import('../client/index.js');
  const opened = await openSession(process.env, how);
  if (!opened.success) return opened;
  try {
    const outcome = await work(opened.session);
    return outcome.success ? outcome : await hintAtDirect(opened.session, outcome);
  } finally {
    await opened.session.close();
  }
}

/** Makes Ctrl-C end a wait with a note: what was waited for goes on without this command. */
export function onInterrupt(words: string): void {
  const end = (code: number) => () => {
    note(`\n${words}`.trim());
    process.exit(code);
  };
  process.once('SIGINT', end(EXIT.interrupted));
  process.once('SIGTERM', end(143));
}
