import type { Carried } from '../../../contract/run';
import { openIncident } from '../../../workflows/task-record/decisions';
import { beginModel, predict, type Model, type Verdict } from './model';
import { happen } from './happen';
import { beginRecord, send, type Done, type Sent } from './perform';
import { at, told, type Command, type Happening, type Repetition, type Request, type Story } from './story';

interface Accepted {
  readonly request: Sent['request'];
  readonly answer: unknown;
}

/** One command of a story as it went: what a rule has to hold over. */
export interface Turn {
  readonly serial: number;
  readonly command: Command;
  /** The request behind it, when there is one. */
  readonly sent: Sent | null;
  readonly before: Carried;
  readonly after: Carried;
  readonly verdict: Verdict;
  readonly answer?: unknown;
  /** What was accepted first under the id of the request, and its answer. */
  readonly first: Accepted | undefined;
}

const isRepetition = (command: Command): command is Repetition => 'back' in command;
const HAPPENINGS = ['settle', 'judge', 'advance', 'orphan', 'crash'];
const isHappening = (command: Request | Happening): command is Happening => HAPPENINGS.includes(command.kind);

/** Finds the request that a command sends; null when it sends none. */
function requestOf(command: Command, earlier: readonly Sent[], now: Pick<Sent, 'serial' | 'incidentId'>): Sent | null {
  if (!isRepetition(command)) return isHappening(command) ? null : { ...now, request: command };
  const sent = earlier.at(-1 - command.back);
  if (sent === undefined) return null;
  return command.kind === 'again' ? sent : { ...sent, request: { kind: 'other' } };
}

/** Plays a story on the real record; `look` sees every turn and throws when a rule is broken. */
export function play(story: Story, look: (turn: Turn) => void): Carried {
  let carried = beginRecord(story.beginning);
  const sent: Sent[] = [];
  const accepted = new Map<number, Accepted>();
  story.commands.forEach((command, index) => {
    const serial = index + 1;
    const request = requestOf(command, sent, { serial, incidentId: openIncident(carried)?.id });
    const first = accepted.get(request?.serial ?? 0);
    try {
      const done = perform(carried, { command, request, serial });
      look({ serial, command, sent: request, before: carried, after: done.carried, first, ...done });
      // What a refused decision named may be another incident by the time it is sent again.
      if (request?.serial === serial && (done.verdict === 'done' || command.kind !== 'decide')) sent.push(request);
      if (request !== null && done.verdict === 'done') {
        accepted.set(request.serial, { request: request.request, answer: done.answer });
      }
      carried = done.carried;
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      throw new Error(`at ${String(serial)}. ${told(command)}: ${said}`, { cause: error });
    }
  });
  return carried;
}

interface Next {
  readonly command: Command;
  readonly request: Sent | null;
  readonly serial: number;
}

function perform(carried: Carried, { command, request, serial }: Next): Done {
  if (request !== null) return send(carried, request, at(serial));
  return isRepetition(command) || !isHappening(command)
    ? { carried, verdict: 'nothing' }
    : happen(carried, command, serial);
}

/** Follows a story on the model: what each turn should come to, and the model after it. */
export function follower(story: Story): (turn: Turn) => { verdict: Verdict; model: Model } {
  const model = beginModel(story.beginning);
  const remembered = new Map<number, string>();
  return ({ command, sent, serial }) => {
    if (sent === null) {
      const verdict = isRepetition(command) ? 'nothing' : predict(model, command, serial);
      return { verdict, model };
    }
    if (isMalformed(sent)) return { verdict: 'INVALID_ARGUMENT', model };
    const known = remembered.get(sent.serial);
    if (known !== undefined) return { verdict: known === wordsOf(sent) ? 'repeated' : 'REQUEST_CONFLICT', model };
    const request: Request = sent.request.kind === 'other' ? { kind: 'note' } : sent.request;
    const verdict = predict(model, request, sent.serial);
    if (verdict === 'done') remembered.set(sent.serial, wordsOf(sent));
    return { verdict, model };
  };
}

/** What no schema takes is refused before anybody looks at its id (GN9). */
export const isMalformed = ({ request }: Sent): boolean => request.kind === 'update' && request.change === 'status';

const wordsOf = ({ request }: Sent): string => JSON.stringify(request);
