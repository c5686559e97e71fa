/** Bytes of a chunk, as the follower reads them. */
const CHUNK = 256 * 1024;
/** Bytes of output that are made once and then printed over and over. */
const BLOCK = 16 * 1024 * 1024;

/** Kinds of output: what they are like, and how one event of it looks. */
export const LOADS = {
  /** Codex at work: commands with some kilobytes of output each, begun and completed. */
  commands: (n: number) =>
    n % 2 === 0
      ? item('item.started', n, { type: 'command_execution', command: 'bash -lc ls', aggregated_output: '' })
      : item('item.completed', n - 1, {
          type: 'command_execution',
          command: 'bash -lc ls',
          aggregated_output: 'src/a-file.ts:12: some words of it\n'.repeat(100),
          exit_code: 0,
          status: 'completed',
        }),
  /** Short messages, a hundred bytes each. */
  messages: (n: number) =>
    item('item.completed', n, { type: 'agent_message', text: `step ${n} of the work that goes on` }),
  /** Events of a megabyte, full of escapes. */
  large: (n: number) =>
    item('item.completed', n, { type: 'command_execution', aggregated_output: 'words "quoted"\n'.repeat(60_000) }),
  /** Events that say nothing about the run. */
  others: (n: number) =>
    item('item.updated', n, { type: 'todo_list', items: [{ text: 'a thing to do', completed: false }] }),
  /** Text that is no event. */
  log: (n: number) => `2026-01-01T00:00:00Z DEBUG a line of a log that somebody left on, number ${n}`,
  /** One line that never ends. */
  line: () => undefined,
} as const;
export type LoadKind = keyof typeof LOADS;

export const isLoadKind = (name: string): name is LoadKind => Object.hasOwn(LOADS, name);

function item(type: string, n: number, content: object): string {
  return JSON.stringify({ type, item: { id: `item_${n}`, ...content } });
}

function blockOf(kind: LoadKind): Buffer {
  const lines: string[] = [];
  for (let n = 0, size = 0; size < BLOCK; n += 1) {
    const line = LOADS[kind](n);
    if (line === undefined) return Buffer.alloc(BLOCK, 'x');
    lines.push(`${line}\n`);
    size += line.length + 1;
  }
  return Buffer.from(lines.join(''));
}

/** Chunks of about so many bytes of a kind; they lie in memory that is made once, before the first of them. */
export function chunksOf(kind: LoadKind, bytes: number): { readonly size: number; chunks(): Generator<Buffer> } {
  const block = blockOf(kind);
  const blocks = Math.max(1, Math.round(bytes / block.length));
  return {
    size: blocks * block.length,
    *chunks() {
      for (let n = 0; n < blocks; n += 1) {
        for (let start = 0; start < block.length; start += CHUNK) yield block.subarray(start, start + CHUNK);
      }
    },
  };
}
