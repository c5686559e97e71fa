import type { Usage } from '../../contract/run';
import { parseEvent, type CodexEvent, type CodexItem } from './codex-events';

const MAX_THREADS = 20;
const MAX_OPEN_TOOLS = 10_000;
const MAX_NOTICES = 10;
const MAX_NOTICE_LENGTH = 2_000;
const SILENT_ITEMS = new Set(['agent_message', 'reasoning', 'error']);

/** What the events of a run have said so far; bounded whatever they say. */
export interface RunEvents {
  /** Distinct threads, in order of first appearance. */
  threadIds: string[];
  lastMessage: string | null;
  /** Item ids of tools that began and have not ended. */
  openTools: Set<string>;
  /** Running total of the thread. */
  usage: Usage | null;
  terminal: { kind: 'completed' } | { kind: 'failed'; message: string | null } | null;
  /** Text of the last `error` event: not final by itself. */
  lastError: string | null;
  notices: string[];
  /** Commands that failed because the sandbox could not start. */
  sandboxFailures: number;
  events: number;
  unreadable: number;
  /** `error` events: notices of a connection that is lost, repeated for as long as it is; no sign of work. */
  errors: number;
}

export const noEvents = (): RunEvents => ({
  threadIds: [],
  lastMessage: null,
  openTools: new Set(),
  usage: null,
  terminal: null,
  lastError: null,
  notices: [],
  sandboxFailures: 0,
  events: 0,
  unreadable: 0,
  errors: 0,
});

function addNotice(state: RunEvents, text: string): void {
  const notice = text.slice(0, MAX_NOTICE_LENGTH);
  if (state.notices.length < MAX_NOTICES && !state.notices.includes(notice)) state.notices.push(notice);
}

function completeItem(state: RunEvents, item: CodexItem): void {
  state.openTools.delete(item.id);
  if (item.type === 'agent_message' && item.text !== undefined) state.lastMessage = item.text;
  if (item.type === 'error' && item.message !== undefined) addNotice(state, item.message);
  if (item.type === 'command_execution' && item.status === 'failed') {
    if (item.aggregated_output?.startsWith('bwrap: ') === true) state.sandboxFailures += 1;
  }
}

function applyEvent(state: RunEvents, event: CodexEvent): void {
  switch (event.type) {
    case 'thread.started':
      if (!state.threadIds.includes(event.thread_id) && state.threadIds.length < MAX_THREADS) {
        state.threadIds.push(event.thread_id.slice(0, 200));
      }
      break;
    case 'turn.started':
      state.terminal = null;
      break;
    case 'item.started':
      if (!SILENT_ITEMS.has(event.item.type) && state.openTools.size < MAX_OPEN_TOOLS) {
        state.openTools.add(event.item.id);
      }
      break;
    case 'item.completed':
      completeItem(state, event.item);
      break;
    case 'turn.completed':
      state.terminal = { kind: 'completed' };
      if (event.usage !== undefined) {
        const { input_tokens, cached_input_tokens, output_tokens } = event.usage;
        state.usage = {
          inputTokens: input_tokens,
          cachedInputTokens: cached_input_tokens,
          outputTokens: output_tokens,
        };
      }
      break;
    case 'turn.failed':
      state.terminal = { kind: 'failed', message: event.error?.message ?? null };
      break;
    case 'error':
      state.errors += 1;
      state.lastError = event.message?.slice(0, MAX_NOTICE_LENGTH) ?? state.lastError;
      if (event.message !== undefined) addNotice(state, event.message);
      break;
  }
}

/** Takes one line of a provider's output into the state. */
export function reduceLine(state: RunEvents, line: string): void {
  if (line.trim() === '') return;
  const event = parseEvent(line);
  if (event === undefined) {
    state.unreadable += 1;
    return;
  }
  state.events += 1;
  if (event !== 'other') applyEvent(state, event);
}
