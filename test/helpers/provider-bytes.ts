import fc from 'fast-check';

/** Types of the events that mean something to us. */
export const KNOWN_EVENTS = [
  'thread.started',
  'turn.started',
  'item.started',
  'item.completed',
  'turn.completed',
  'turn.failed',
  'error',
];
const EVENTS = [...KNOWN_EVENTS, 'item.updated', 'constructor'];
const ITEMS = ['agent_message', 'command_execution', 'mcp_tool_call', 'reasoning', 'error', 'file_change', 'todo_list'];

const words = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    't',
    'item_1',
    'failed',
    'bwrap: no',
    'grüße 🙂\u2028\u2029',
    '\u0000\u001b[2J',
    '\\ud800',
    'x'.repeat(260),
  ),
);
/** A value of any type, most often a text; also one that is nested deep. */
const value = fc.oneof(
  { weight: 5, arbitrary: words },
  fc.constantFrom(0, -1, 1.5, 1e308, true, null),
  fc.jsonValue({ maxDepth: 3 }),
  fc.integer({ min: 1, max: 40 }).map((depth) => nested(depth)),
);

function nested(depth: number): unknown {
  let inner: unknown = [];
  for (let level = 0; level < depth; level += 1) inner = level % 2 === 0 ? [inner] : { a: inner };
  return inner;
}

const maybe = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof({ weight: 4, arbitrary }, value);
const fields = (given: Record<string, fc.Arbitrary<unknown>>) => fc.record(given, { requiredKeys: [] });

const item = fields({
  id: maybe(fc.constantFrom('item_1', 'item_2', 'i'.repeat(201))),
  type: maybe(fc.constantFrom(...ITEMS)),
  text: value,
  message: value,
  command: value,
  aggregated_output: value,
  status: maybe(fc.constantFrom('failed', 'completed')),
  exit_code: value,
  changes: value,
  server: value,
  query: value,
});
const usage = fields({ input_tokens: value, cached_input_tokens: value, output_tokens: value });

/** A provider's event with fields that are right, wrong or missing, in the order that Codex has or in another. */
const event = fields({
  type: maybe(fc.constantFrom(...EVENTS)),
  thread_id: maybe(fc.constantFrom('t', 'u', 't'.repeat(200), 't'.repeat(201), 't t', '')),
  item: maybe(item),
  usage: maybe(usage),
  error: maybe(fields({ message: value })),
  message: value,
})
  .map((content) => JSON.stringify(content))
  .chain((text) =>
    fc.constantFrom(
      text,
      text.replace('{', '{"__proto__":{"type":"error","item":{"id":7}},'),
      text.replace('{', '{"item":{"__proto__":{"text":1},"id":"item_1","type":"agent_message"},'),
      text.replace('{', '\t{ \r'),
      text.replace('}', ''),
      text.replace(',', ',\n'),
    ),
  );

const bytesOf = (text: string) => Buffer.from(text);
const fragment = fc.oneof(
  { weight: 6, arbitrary: event.map(bytesOf) },
  { weight: 6, arbitrary: fc.constantFrom('\n', '\n', '\r\n', '\n\n', ' ').map(bytesOf) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\uFEFF', '\r', '\u2028', '{', '}', '[[[[', 'a log line', '"', '\0').map(bytesOf),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.json().map(bytesOf) },
);

/** Any bytes that a provider may print, most of them nearly events. */
export const providerBytes = fc.array(fragment, { maxLength: 40 }).map((fragments) => Buffer.concat(fragments));

/** Sizes of chunks that repeat, down to single bytes. */
export const chunkSizes = fc.array(fc.oneof(fc.constantFrom(1, 2, 3), fc.integer({ min: 1, max: 300 })), {
  minLength: 1,
  maxLength: 8,
});

/** Cuts bytes into chunks of these sizes, over and over. */
export function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0, n = 0; start < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return chunks;
}
