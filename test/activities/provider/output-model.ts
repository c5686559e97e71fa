import { noEvents, type RunEvents } from '../../../activities/provider/event-reducer';
import { KNOWN_EVENTS } from '../../helpers/provider-bytes';

/** What a whole output comes to, with no regard for memory: the simplest reading of it that there is. */
export interface Reading {
  readonly events: RunEvents;
  readonly oversized: number;
  /** Bytes up to and with the event that ended the turn last. */
  readonly resultAt: number;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** A field of the object itself: an inherited one is none. */
const own = (object: Json, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
const textAt = (object: Json, name: string): string | undefined => {
  const value = own(object, name);
  return typeof value === 'string' ? value : undefined;
};
const countAt = (object: Json, name: string): number => {
  const value = own(object, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
};

/** Reads an output that is there as a whole. */
export function readAtOnce(bytes: Buffer, maxLine: number): Reading {
  const events = noEvents();
  let oversized = 0;
  let resultAt = 0;
  let start = 0;
  for (let first = true; start < bytes.length; first = false) {
    const found = bytes.indexOf('\n', start);
    const end = found === -1 ? bytes.length : found;
    const next = found === -1 ? end : end + 1;
    if (end - start > maxLine) {
      oversized += 1;
    } else {
      const decoded = decoder.decode(bytes.subarray(start, end));
      const { terminal } = events;
      take(events, first ? decoded.replace(/^\uFEFF/, '') : decoded);
      if (events.terminal !== terminal) resultAt = next;
    }
    start = next;
  }
  return { events, oversized, resultAt };
}

function take(events: RunEvents, line: string): void {
  if (line.trim() === '') return;
  // An event of another type is known by its beginning and its end; it says nothing here, so nobody reads it.
  const [, type] = /^\{"type":"([^"\\]+)"[,}]/.exec(line) ?? [];
  const isOther = type !== undefined && !KNOWN_EVENTS.includes(type) && line.trimEnd().endsWith('}');
  const event = isOther ? { type } : parse(line);
  if (!isObject(event) || textAt(event, 'type') === undefined) events.unreadable += 1;
  else {
    events.events += 1;
    events.fatalError = null;
    apply(events, event);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function apply(events: RunEvents, event: Json): void {
  const item = own(event, 'item');
  const message = textAt(event, 'message');
  switch (event['type']) {
    case 'thread.started':
      noteThread(events, textAt(event, 'thread_id'));
      break;
    case 'turn.started':
      events.hasTurn = true;
      events.terminal = null;
      break;
    case 'item.started':
    case 'item.completed':
      if (isObject(item)) applyItem(events, event['type'] === 'item.started', item);
      break;
    case 'turn.completed':
      events.terminal = { kind: 'completed' };
      events.openTools.clear();
      noteUsage(events, own(event, 'usage'));
      break;
    case 'turn.failed': {
      const error = own(event, 'error');
      events.terminal = { kind: 'failed', message: (isObject(error) ? textAt(error, 'message') : undefined) ?? null };
      events.openTools.clear();
      break;
    }
    case 'error':
      events.errors += 1;
      if (message !== undefined) events.lastError = excerpt(message);
      if (message !== undefined) events.fatalError = announcesTry(events.lastError ?? '') ? null : events.lastError;
      if (message !== undefined) noteNotice(events, message);
      break;
  }
}

/** A notice of another try counts the tries, or says so. */
const announcesTry = (text: string): boolean =>
  /\b\d+ ?\/ ?\d+\b/.test(text) ||
  ['reconnect', 'retry', 'waiting for network'].some((word) => text.toLowerCase().includes(word));

function applyItem(events: RunEvents, isStart: boolean, item: Json): void {
  const id = textAt(item, 'id');
  const type = textAt(item, 'type');
  if (id === undefined || type === undefined) return;
  if (type !== 'error') events.hasAnswer = true;
  if (isStart) {
    if (!['agent_message', 'reasoning', 'error'].includes(type) && id.length <= 200) events.openTools.add(id);
    return;
  }
  events.openTools.delete(id);
  if (!['agent_message', 'reasoning', 'error'].includes(type)) noteTool(events, type, item);
  const message = textAt(item, 'message');
  if (type === 'agent_message') events.lastMessage = textAt(item, 'text') ?? events.lastMessage;
  if (type === 'error' && message !== undefined) noteNotice(events, message);
  if (type === 'command_execution') events.commands += 1;
  const isFailed = type === 'command_execution' && textAt(item, 'status') === 'failed';
  if (isFailed && textAt(item, 'aggregated_output')?.startsWith('bwrap: ') === true) events.sandboxFailures += 1;
}

function noteTool({ tools }: RunEvents, type: string, item: Json): void {
  const exitCode = own(item, 'exit_code');
  const isFailed = ['failed', 'declined'].includes(textAt(item, 'status') ?? '');
  const tool = excerpt(textAt(item, 'command') ?? type);
  tools.ran += 1;
  tools.failed += isFailed ? 1 : 0;
  tools.last.push({ tool, exitCode: Number.isSafeInteger(exitCode) ? Number(exitCode) : null, isFailed });
  if (tools.last.length > 20) tools.last.shift();
}

function noteThread({ threadIds }: RunEvents, id: string | undefined): void {
  if (id === undefined || id.length > 200 || !/^[!-~]+$/.test(id)) return;
  if (threadIds.length < 20 && !threadIds.includes(id)) threadIds.push(id);
}

function noteUsage(events: RunEvents, usage: unknown): void {
  if (!isObject(usage)) return;
  events.usage = {
    inputTokens: countAt(usage, 'input_tokens'),
    cachedInputTokens: countAt(usage, 'cached_input_tokens'),
    outputTokens: countAt(usage, 'output_tokens'),
  };
}

const excerpt = (text: string): string => text.slice(0, 2_000).replaceAll(/\p{Surrogate}/gu, '\uFFFD');

function noteNotice({ notices }: RunEvents, text: string): void {
  const notice = excerpt(text);
  if (notices.length < 10 && !notices.includes(notice)) notices.push(notice);
}
