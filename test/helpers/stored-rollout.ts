import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A thread as Codex 0.171.0 stores it, with the fields that matter. */
interface StoredThread {
  readonly threadId: string;
  readonly mark?: string;
  readonly day?: string;
  readonly lines?: readonly unknown[];
}

export const prompt = (text = 'do it') => ({
  type: 'event_msg',
  payload: { type: 'item_completed', item: { type: 'UserMessage', content: [{ type: 'text', text }] } },
});
export const usage = (input: number, output: number) => ({
  type: 'token_usage_record',
  payload: { thread_token_usage: { input_tokens: input, cached_input_tokens: 0, output_tokens: output } },
});
export const turn = (type: string, id: string, reason?: string) => ({
  timestamp: `2026-11-29T10:00:0${id}.000Z`,
  type: 'event_msg',
  payload: { type, turn_id: id, reason },
});
export const context = (exact: { cwd?: string; approval?: unknown; sandbox?: string } = {}) => ({
  type: 'turn_context',
  payload: {
    cwd: exact.cwd ?? '/w',
    approval_policy: exact.approval ?? 'never',
    sandbox_policy: { type: exact.sandbox ?? 'workspace-write' },
    model: 'gpt-5.5',
  },
});

/** Writes a rollout into a Codex home; gives its path. */
export function storeRollout(codexHome: string, { threadId, mark, day = '2026/11/29', lines }: StoredThread): string {
  const folder = join(codexHome, 'sessions', day);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `rollout-${day.replaceAll('/', '-')}T10-00-00-${threadId}.jsonl`);
  const meta = {
    type: 'session_meta',
    payload: { id: threadId, thread_source: mark ?? null, base_instructions: { text: 'x'.repeat(100_000) } },
  };
  const all = lines === undefined ? [] : [meta, ...lines];
  writeFileSync(path, all.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}
