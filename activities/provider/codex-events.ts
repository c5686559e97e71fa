import { z } from 'zod';

// A field of a wrong type does not count; it does not spoil the event.
const text = z.string().optional().catch(undefined);
const count = z.number().catch(0);

const itemSchema = z.object({
  id: z.string(),
  type: z.string(),
  text,
  message: text,
  status: text,
  aggregated_output: text,
  command: text,
  exit_code: z.int().nullable().optional().catch(undefined),
});
export type CodexItem = z.infer<typeof itemSchema>;

const usageSchema = z.object({ input_tokens: count, cached_input_tokens: count, output_tokens: count });

/** Events of `codex exec --json` that say something about the run; measured with 0.171.0. */
const codexEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
  z.object({ type: z.literal('turn.started'), turn_id: text }),
  z.object({ type: z.literal('item.started'), item: itemSchema }),
  z.object({ type: z.literal('item.completed'), item: itemSchema }),
  z.object({ type: z.literal('turn.completed'), usage: usageSchema.optional().catch(undefined) }),
  z.object({
    type: z.literal('turn.failed'),
    error: z.object({ message: z.string() }).optional().catch(undefined),
  }),
  z.object({ type: z.literal('error'), message: text }),
]);
export type CodexEvent = z.infer<typeof codexEvent>;

const TYPES: ReadonlySet<string> = new Set(codexEvent.options.map(({ shape }) => shape.type.value));
const LEADING_TYPE = /^\{"type":"([^"\\]+)"[,}]/;

const hasType = (json: unknown): boolean =>
  typeof json === 'object' && json !== null && 'type' in json && typeof json.type === 'string';

/** Whether a line shows by its beginning alone that it is an event which says nothing here: most lines of most runs. */
function isPlainlyOther(line: string): boolean {
  const type = LEADING_TYPE.exec(line)?.[1];
  return type !== undefined && !TYPES.has(type) && line.trimEnd().endsWith('}');
}

/** Reads one line: an event, `other` for a readable one that says nothing here, or undefined for anything else. */
export function parseEvent(line: string): CodexEvent | 'other' | undefined {
  if (isPlainlyOther(line)) return 'other';
  // A parser that fails is slow, and a provider that prints its log here prints much of it.
  if (!line.trimStart().startsWith('{')) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const event = codexEvent.safeParse(json);
  if (event.success) return event.data;
  return hasType(json) ? 'other' : undefined;
}
