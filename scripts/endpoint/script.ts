import { z } from 'zod';

const DIRECTIVE = /^@(say|shell|patch|usage|sleep|fail|refuse)(?: (.*))?$/gm;
/** Directives that end an answer: Codex has to act, or the turn is over. */
const ENDING = new Set(['say', 'shell', 'patch']);
/** Codex opens user messages of its own with a tag; they are no prompt. */
const NOT_A_PROMPT = /^<(environment_context|turn_aborted|subagent_notification)>/;
const STILL_RUNNING = /^Process running with session ID (\d+)$/m;
const POLL_MS = 60_000;

const itemSchema = z.looseObject({
  type: z.string(),
  role: z.string().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).nullish(),
  output: z.unknown().optional(),
});
type Item = z.infer<typeof itemSchema>;

/** What the endpoint reads of a request of Codex. */
export const requestSchema = z.looseObject({
  input: z.array(itemSchema),
  client_metadata: z.looseObject({ thread_id: z.string().optional(), turn_id: z.string().optional() }).optional(),
});
export type RequestBody = z.infer<typeof requestSchema>;

/** One line of a script. */
export interface Step {
  readonly name: string;
  readonly argument: string;
}

/** What is asked for now: the prompt, how far its script has come, and the steps of the answer that is due. */
export interface Due {
  readonly prompt: string;
  readonly position: number;
  readonly steps: Step[];
}

const textOf = (item: Item): string => (item.content ?? []).map(({ text = '' }) => text).join('');
const isPrompt = (item: Item): boolean =>
  item.type === 'message' && item.role === 'user' && !NOT_A_PROMPT.test(textOf(item));

/** Splits a prompt's script into answers; a prompt without a script is answered with one message. */
function answersIn(prompt: string): Step[][] {
  const answers: Step[][] = [[]];
  for (const [, name = '', argument = ''] of prompt.matchAll(DIRECTIVE)) {
    answers.at(-1)?.push({ name, argument });
    if (ENDING.has(name)) answers.push([]);
  }
  const filled = answers.filter((steps) => steps.length > 0);
  return filled.length > 0 ? filled : [DONE];
}

const POISON = /^@poison (.+)$/m;

/** The refusal of a history that holds a `@poison`, in whichever prompt; undefined when it holds none. */
function refusalOf(input: Item[]): Step[] | undefined {
  const message = input.map((item) => (isPrompt(item) ? POISON.exec(textOf(item))?.[1] : undefined)).find(Boolean);
  if (message === undefined) return undefined;
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error' } });
  return [{ name: 'refuse', argument: `400 ${body}` }];
}

const DONE: Step[] = [{ name: 'say', argument: 'done' }];

/** Id of the session in which a command that outlasted Codex's first wait goes on. */
function runningSession({ output }: Item): string | undefined {
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
  return STILL_RUNNING.exec(text)?.[1];
}

/**
 * Finds the answer that a request asks for. The position follows from the tool outputs since the prompt alone, so a
 * repeated request gets the same answer, and a resumed thread begins the script of its new prompt.
 */
export function dueAnswer({ input }: RequestBody): Due {
  const start = input.findLastIndex(isPrompt);
  const prompt = start < 0 ? '' : textOf(input[start] ?? { type: 'none' });
  const refusal = refusalOf(input);
  if (refusal !== undefined) return { prompt, position: 0, steps: refusal };
  const answers = answersIn(prompt);
  const outputs = input.slice(start + 1).filter(({ type }) => type.endsWith('_output'));
  let position = 0;
  let session: string | undefined;
  for (const item of outputs) {
    session = answers[position]?.at(-1)?.name === 'shell' ? runningSession(item) : undefined;
    if (session === undefined) position += 1;
  }
  if (session === undefined) return { prompt, position, steps: answers[position] ?? DONE };
  const argument = JSON.stringify({ session_id: Number(session), yield_time_ms: POLL_MS });
  return { prompt, position, steps: [{ name: 'poll', argument }] };
}
