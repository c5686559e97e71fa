import { z } from 'zod';
import { block, oneLine } from './escape';

/** What a line for people needs of a provider's event; everything else in it is ignored. */
const eventSchema = z.looseObject({
  type: z.string(),
  thread_id: z.string().optional(),
  message: z.string().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
  usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).optional(),
  item: z
    .looseObject({
      type: z.string(),
      text: z.string().optional(),
      message: z.string().optional(),
      command: z.string().optional(),
      aggregated_output: z.string().optional(),
      exit_code: z.number().nullish(),
      server: z.string().optional().catch(undefined),
      tool: z.string().optional().catch(undefined),
      query: z.string().optional().catch(undefined),
      changes: z
        .array(z.looseObject({ path: z.string() }))
        .optional()
        .catch(undefined),
    })
    .optional(),
});
type Event = z.infer<typeof eventSchema>;
type Item = NonNullable<Event['item']>;

/** Characters of a command's output that a person is shown. */
const OUTPUT_CHARACTERS = 2_000;

/** Levels that an event may nest: the engine reads any number of them, and writes some thousands at most. */
const MAX_LEVELS = 100;

/** Reads a line as JSON; undefined when it is none, or nests too deep to be printed as JSON again. */
export function parseEvent(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return isNestedDeeper(value, MAX_LEVELS) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isNestedDeeper(inner, levels - 1));
}

/** A provider's event for people; a line that is none is shown as it is, made safe. */
export function eventLines(line: string): string[] {
  const event = eventSchema.safeParse(parseEvent(line));
  if (!event.success) return line.trim() === '' ? [] : [`? ${oneLine(line)}`];
  const { type, item, thread_id, message, error, usage } = event.data;
  switch (type) {
    case 'thread.started':
      return [`thread ${oneLine(thread_id ?? '?')}`];
    case 'item.started':
      return item === undefined ? [] : startedLines(item);
    case 'item.completed':
      return item === undefined ? [] : itemLines(item);
    case 'turn.completed':
      return usage === undefined ? ['turn completed'] : [`turn completed, thread total ${tokens(usage)}`];
    case 'turn.failed':
    case 'error':
      return [`${type}: ${oneLine(error?.message ?? message ?? '')}`];
    default:
      return [];
  }
}

const tokens = ({ input_tokens, output_tokens }: NonNullable<Event['usage']>): string =>
  `${String(input_tokens)} tokens in, ${String(output_tokens)} out`;

/** What an agent does at the moment; an item that is only said has no beginning worth a line. */
function startedLines({ type, command, server, tool, query, changes = [] }: Item): string[] {
  switch (type) {
    case 'command_execution':
      return [`runs: ${oneLine(command ?? type)}`];
    case 'file_change':
      return [`runs: ${oneLine([type, ...changes.map(({ path }) => path)].join(' '))}`];
    case 'mcp_tool_call':
      return [`runs: ${oneLine([type, server ?? '', tool ?? ''].join(' ').trimEnd())}`];
    case 'web_search':
      return [`runs: ${oneLine(`${type} ${query ?? ''}`.trimEnd())}`];
    default:
      return [];
  }
}

function itemLines({ type, text, message, command, aggregated_output, exit_code }: Item): string[] {
  if (command !== undefined) {
    const output = (aggregated_output ?? '').trimEnd();
    const cut = output.length > OUTPUT_CHARACTERS ? `${output.slice(0, OUTPUT_CHARACTERS)}\n[cut]` : output;
    const left = exit_code === null || exit_code === undefined ? 'not ended' : `exit ${String(exit_code)}`;
    return [`$ ${oneLine(command)} (${left})`, ...(cut === '' ? [] : block(cut))];
  }
  const words = text ?? message;
  return words === undefined ? [oneLine(type)] : [`${oneLine(type)}:`, ...block(words)];
}
