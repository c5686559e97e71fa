import type { Usage } from '../../contract/run';
import type { Tools } from '../../contract/tools';
import { parseEvent, type CodexEvent, type CodexItem } from './codex-events';

const MAX_THREADS = 20;
/** What can be the id of a thread: it is told, stored and compared as it is. */
const THREAD_ID = /^[!-~]{1,200}$/;
const MAX_OPEN_TOOLS = 10_000;
const MAX_ITEM_ID = 200;
const MAX_TOOLS = 20;
const MAX_NOTICES = 10;
const MAX_NOTICE_LENGTH = 2_000;
const SILENT_ITEMS = new Set(['agent_message', 'reasoning', 'error']);
/** Notices of another try count the tries, or say so; only how soon silence ends a run depends on it, never a verdict. */
const TRY_AGAIN = /\b\d+ ?\/ ?\d+\b|reconnect|retry|waiting for network/i;

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
  /** Text of an `error` event that announces no further try and that nothing has followed yet. */
  fatalError: string | null;
  /** Whether a turn has begun. */
  hasTurn: boolean;
  /** Id of the last turn; null where the provider does not tell it. */
  turnId: string | null;
  /** Whether the model has answered anything. */
  hasAnswer: boolean;
  /** Tools that have ended. */
  tools: Tools;
  /** Commands that have ended. */
  commands: number;
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
  fatalError: null,
  hasTurn: false,
  turnId: null,
  hasAnswer: false,
  tools: { ran: 0, failed: 0, last: [] },
  commands: 0,
  notices: [],
  sandboxFailures: 0,
  events: 0,
  unreadable: 0,
  errors: 0,
});

/** A copy: a slice would keep the whole text in memory. */
const excerpt = (text: string): string => Buffer.from(text.slice(0, MAX_NOTICE_LENGTH)).toString();

function addNotice(state: RunEvents, text: string): void {
  const notice = excerpt(text);
  if (state.notices.length < MAX_NOTICES && !state.notices.includes(notice)) state.notices.push(notice);
}

function noteThread({ threadIds }: RunEvents, id: string): void {
  if (THREAD_ID.test(id) && !threadIds.includes(id) && threadIds.length < MAX_THREADS) threadIds.push(id);
}

function beginItem({ openTools }: RunEvents, { id, type }: CodexItem): void {
  const isBounded = openTools.size < MAX_OPEN_TOOLS && id.length <= MAX_ITEM_ID;
  if (!SILENT_ITEMS.has(type) && isBounded) openTools.add(id);
}

function noteTool({ tools }: RunEvents, { type, command, exit_code: exitCode = null, status }: CodexItem): void {
  const isFailed = status === 'failed' || status === 'declined';
  tools.ran += 1;
  if (isFailed) tools.failed += 1;
  tools.last = [...tools.last, { tool: excerpt(command ?? type), exitCode, isFailed }].slice(-MAX_TOOLS);
}

function completeItem(state: RunEvents, item: CodexItem): void {
  state.openTools.delete(item.id);
  if (!SILENT_ITEMS.has(item.type)) noteTool(state, item);
  if (item.type === 'agent_message' && item.text !== undefined) state.lastMessage = item.text;
  if (item.type === 'error' && item.message !== undefined) addNotice(state, item.message);
  if (item.type !== 'command_execution') return;
  state.commands += 1;
  if (item.status === 'failed' && item.aggregated_output?.startsWith('bwrap: ') === true) state.sandboxFailures += 1;
}

/** The turn is over: a tool that has not ended by now never will. */
function endTurn(state: RunEvents, terminal: RunEvents['terminal']): void {
  state.terminal = terminal;
  state.openTools.clear();
}

function noteError(state: RunEvents, message: string | undefined): void {
  state.errors += 1;
  if (message === undefined) return;
  state.lastError = excerpt(message);
  state.fatalError = TRY_AGAIN.test(state.lastError) ? null : state.lastError;
  addNotice(state, message);
}

function applyEvent(state: RunEvents, event: CodexEvent): void {
  switch (event.type) {
    case 'thread.started':
      noteThread(state, event.thread_id);
      break;
    case 'turn.started':
      state.hasTurn = true;
      state.turnId = event.turn_id ?? null;
      state.terminal = null;
      break;
    case 'item.started':
      state.hasAnswer ||= event.item.type !== 'error';
      beginItem(state, event.item);
      break;
    case 'item.completed':
      state.hasAnswer ||= event.item.type !== 'error';
      completeItem(state, event.item);
      break;
    case 'turn.completed':
      endTurn(state, { kind: 'completed' });
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
      endTurn(state, { kind: 'failed', message: event.error?.message ?? null });
      break;
    case 'error':
      noteError(state, event.message);
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
  state.fatalError = null;
  if (event !== 'other') applyEvent(state, event);
}
