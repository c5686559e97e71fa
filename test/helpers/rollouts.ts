import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const firstLineSchema = z.looseObject({
  type: z.literal('session_meta'),
  payload: z.looseObject({ id: z.string(), thread_source: z.string().nullish() }),
});

/** A thread as Codex itself stored it. */
export interface Rollout {
  readonly threadId: string;
  readonly threadSource: string | null;
  readonly lines: number;
}

/** Every thread that a Codex home holds. */
export function rolloutsIn(codexHome: string): Rollout[] {
  let names: string[];
  try {
    names = readdirSync(join(codexHome, 'sessions'), { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => {
      const lines = readFileSync(join(codexHome, 'sessions', name), 'utf8')
        .trimEnd()
        .split('\n');
      const { id, thread_source } = firstLineSchema.parse(JSON.parse(lines[0] ?? '')).payload;
      return { threadId: id, threadSource: thread_source ?? null, lines: lines.length };
    });
}
