import { open } from 'node:fs/promises';
import { z } from 'zod';
import type { Usage } from '../../contract/run';

/** Bytes from the end that are looked through: first a few, then as many as the longest answers make. */
const WINDOWS = [256 * 1024, 4 * 1024 * 1024, 32 * 1024 * 1024];

const count = z.number().nonnegative();
const usageLine = z
  .looseObject({
    type: z.literal('token_usage_record'),
    payload: z.looseObject({
      thread_token_usage: z.object({ input_tokens: count, cached_input_tokens: count, output_tokens: count }),
    }),
  })
  .transform(({ payload: { thread_token_usage: total } }): Usage => ({
    inputTokens: total.input_tokens,
    cachedInputTokens: total.cached_input_tokens,
    outputTokens: total.output_tokens,
  }));

const contextLine = z
  .looseObject({
    type: z.literal('turn_context'),
    payload: z.looseObject({
      cwd: z.string(),
      approval_policy: z.unknown(),
      sandbox_policy: z.looseObject({ type: z.string() }),
      model: z.string().optional(),
    }),
  })
  .transform(({ payload: { cwd, approval_policy, sandbox_policy, model } }) => ({
    cwd,
    // Codex also knows a structured one; whatever it holds, it is not `never`.
    approval: typeof approval_policy === 'string' ? approval_policy : 'granular',
    sandbox: sandbox_policy.type,
    model: model ?? null,
  }));

/** Beginning of a turn, or its end by an interrupt; Codex notes both under the id of the turn. */
const turnLine = (type: 'task_started' | 'turn_aborted') =>
  z
    .looseObject({
      type: z.literal('event_msg'),
      timestamp: z.string(),
      payload: z.looseObject({ type: z.literal(type), turn_id: z.string(), reason: z.string().optional() }),
    })
    .transform(({ timestamp, payload: { turn_id, reason } }) => ({
      id: turn_id,
      reason: reason ?? null,
      at: Date.parse(timestamp),
    }));

/** What a thread was last run with, as Codex recorded it at the beginning of that turn. */
export type ThreadContext = z.output<typeof contextLine>;

/** What the end of a rollout says: the value, nothing of the kind, or that it cannot be read. */
export type TailRead<T> = { kind: 'found'; value: T } | { kind: 'absent' } | { kind: 'unreadable'; why: string };

/** Running total of a thread's tokens after its last model answer, by its rollout. */
export const lastUsage = (path: string): Promise<TailRead<Usage>> => lastLine(path, 'token_usage_record', usageLine);

/** Place, sandbox and approvals of a thread's last turn, by its rollout. */
export const lastContext = (path: string): Promise<TailRead<ThreadContext>> =>
  lastLine(path, 'turn_context', contextLine);

/** Id of the first turn that a thread began at a moment or later, by its rollout; null where that says none. */
export async function firstTurnSince(path: string, since: number): Promise<string | null> {
  let first: string | null = null;
  const isBefore = ({ id, at }: { id: string; at: number }): boolean => {
    if (at >= since) first = id;
    return at < since;
  };
  // From the end back to the first one that is older.
  const older = await lastLine(path, 'task_started', turnLine('task_started').refine(isBefore));
  return older.kind === 'unreadable' ? null : first;
}

/** Whether a turn of a thread was ended by an interrupt, by its rollout; false where that cannot be read. */
export async function isTurnInterrupted(path: string, turnId: string): Promise<boolean> {
  const isMeant = ({ id }: { id: string }): boolean => id === turnId;
  const aborted = await lastLine(path, 'turn_aborted', turnLine('turn_aborted').refine(isMeant));
  return aborted.kind === 'found' && aborted.value.reason === 'interrupted';
}

/** The last line of a type that parses: a torn or damaged one is passed over. */
async function lastLine<T>(path: string, type: string, schema: z.ZodType<T>): Promise<TailRead<T>> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      for (const window of WINDOWS) {
        const length = Math.min(size, window);
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, size - length);
        const value = lastIn(buffer.subarray(0, bytesRead), type, schema);
        if (value !== undefined) return { kind: 'found', value };
        if (length === size) return { kind: 'absent' };
      }
      return { kind: 'unreadable', why: `its last ${String(WINDOWS.at(-1))} bytes hold no ${type}` };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { kind: 'unreadable', why: error instanceof Error ? error.message : String(error) };
  }
}

/** Looks backwards through bytes, whose first line may be cut, for a line of a type. */
function lastIn<T>(bytes: Buffer, type: string, schema: z.ZodType<T>): T | undefined {
  const word = `"type":"${type}"`;
  for (let at = bytes.lastIndexOf(word); at !== -1;) {
    const start = bytes.lastIndexOf(0x0a, at) + 1;
    const end = bytes.indexOf(0x0a, at);
    const value = parseLine(bytes.toString('utf8', start, end === -1 ? bytes.length : end), schema);
    if (value !== undefined) return value;
    at = start === 0 ? -1 : bytes.lastIndexOf(word, start - 1);
  }
  return undefined;
}

function parseLine<T>(line: string, schema: z.ZodType<T>): T | undefined {
  try {
    const parsed = schema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
