import { noEvents, reduceLine, type RunEvents } from '../../../activities/provider/event-reducer';

function reduced(...events: unknown[]): RunEvents {
  const state = noEvents();
  for (const event of events) reduceLine(state, typeof event === 'string' ? event : JSON.stringify(event));
  return state;
}
const item = (type: string, fields: object): unknown => ({ type, item: fields });

describe('events of a run', () => {
  it('keep distinct threads in order, and the last agent message (CX-12)', () => {
    const state = reduced(
      { type: 'thread.started', thread_id: 'b' },
      { type: 'thread.started', thread_id: 'a' },
      { type: 'thread.started', thread_id: 'b' },
      { type: 'thread.started', thread_id: 7 },
      item('item.completed', { id: 'item_0', type: 'agent_message', text: 'first' }),
      item('item.completed', { id: 'item_1', type: 'agent_message', text: 'last' }),
      item('item.completed', { id: 'item_2', type: 'agent_message', text: 5 }),
    );
    expect(state).toMatchObject({ threadIds: ['b', 'a'], lastMessage: 'last', events: 7, unreadable: 0 });
  });

  it('know which tools run: from start to end of the same item (BG-9)', () => {
    const open = reduced(
      item('item.started', { id: 'item_0', type: 'command_execution' }),
      item('item.started', { id: 'item_1', type: 'mcp_tool_call' }),
      item('item.started', { id: 'item_2', type: 'reasoning' }),
      item('item.completed', { id: 'item_0', type: 'command_execution', status: 'completed' }),
    );
    expect([...open.openTools]).toEqual(['item_1']);
  });

  it('keep the running total of the thread and the terminal event (CX-18)', () => {
    const usage = { input_tokens: 700, cached_input_tokens: 20, output_tokens: 70, reasoning_output_tokens: 3 };
    expect(reduced({ type: 'turn.completed', usage })).toMatchObject({
      usage: { inputTokens: 700, cachedInputTokens: 20, outputTokens: 70 },
      terminal: { kind: 'completed' },
    });
    expect(reduced({ type: 'turn.failed', error: { message: '429' } }).terminal).toEqual({
      kind: 'failed',
      message: '429',
    });
  });

  it('take reconnect notices as notices, never as an end (P08)', () => {
    const state = reduced(
      { type: 'error', message: 'Reconnecting... 1/5' },
      { type: 'error', message: 'Verbinde neu' },
    );
    expect(state).toMatchObject({
      terminal: null,
      lastError: 'Verbinde neu',
      notices: ['Reconnecting... 1/5', 'Verbinde neu'],
    });
  });

  it('know an error that announces no further try until anything else follows (P06, P08)', () => {
    const fatal = { type: 'error', message: 'E-CANARY' };
    expect(reduced(fatal).fatalError).toBe('E-CANARY');
    expect(reduced(fatal, { type: 'something.new' }).fatalError).toBeNull();
    for (const message of ['Reconnecting... 1/5', 'Neuer Versuch 3/5', 'Reconnecting... waiting for network']) {
      expect(reduced(fatal, { type: 'error', message }).fatalError).toBeNull();
    }
  });

  it('know that the model answered by its first item, not by a warning', () => {
    const warning = item('item.completed', { id: 'item_0', type: 'error', message: 'unknown model' });
    expect(reduced({ type: 'turn.started' }, warning)).toMatchObject({ hasTurn: true, hasAnswer: false });
    expect(reduced(item('item.completed', { id: 'i', type: 'reasoning', text: 'hm' })).hasAnswer).toBe(true);
    expect(reduced(item('item.started', { id: 'i', type: 'command_execution' })).hasAnswer).toBe(true);
  });

  it('have no running tool once the turn is over', () => {
    const started = item('item.started', { id: 'item_0', type: 'command_execution' });
    expect(reduced(started, { type: 'turn.completed' }).openTools.size).toBe(0);
    expect(reduced(started, { type: 'turn.failed' }).openTools.size).toBe(0);
  });

  it('count what is not readable, and let blank lines be (P16)', () => {
    expect(reduced('a log line', '', '  ', '{"broken":', '5', '{}')).toMatchObject({ unreadable: 4, events: 0 });
    expect(reduced({ type: 'something.new', x: 1 })).toMatchObject({ unreadable: 0, events: 1 });
    expect(reduced('{"type":"something.new","x', '[{"type":"error"}]')).toMatchObject({ unreadable: 2, events: 0 });
    expect(reduced(' {"x":1, "type":"turn.completed"}\r').terminal).toEqual({ kind: 'completed' });
  });

  it('stay bounded when there are very many threads, tools and notices', () => {
    const state = noEvents();
    for (let n = 0; n < 20_000; n += 1) {
      reduceLine(state, JSON.stringify({ type: 'thread.started', thread_id: `t${String(n)}` }));
      reduceLine(state, JSON.stringify({ type: 'error', message: `notice ${String(n)}` }));
      reduceLine(state, JSON.stringify(item('item.started', { id: `i${String(n)}`, type: 'web_search' })));
    }
    expect(state.threadIds.length).toBeLessThanOrEqual(20);
    expect(state.notices.length).toBeLessThanOrEqual(10);
    expect(state.openTools.size).toBeLessThanOrEqual(10_000);
  });

  it('keep the last tools that ended, with their exit codes, and count all of them (CK-6)', () => {
    const command = (code: number) => ({
      ...{ id: `c${String(code)}`, type: 'command_execution', command: `exit ${String(code)}`, exit_code: code },
      status: code === 0 ? 'completed' : 'failed',
    });
    const ended = Array.from({ length: 25 }, (_, code) => item('item.completed', command(code % 2)));
    const change = item('item.completed', { id: 'f', type: 'file_change', status: 'completed' });
    const { tools } = reduced(...ended, item('item.started', command(7)), change);
    expect(tools).toMatchObject({ ran: 26, failed: 12 });
    expect(tools.last).toHaveLength(20);
    expect(tools.last.slice(-3)).toEqual([
      { tool: 'exit 1', exitCode: 1, isFailed: true },
      { tool: 'exit 0', exitCode: 0, isFailed: false },
      { tool: 'file_change', exitCode: null, isFailed: false },
    ]);
  });

  it('count commands whose sandbox could not start (P25)', () => {
    const aggregated_output = 'bwrap: Creating new namespace failed: Operation not permitted\n';
    const failed = { id: 'i', type: 'command_execution', status: 'failed', aggregated_output };
    const fine = { ...failed, status: 'completed', aggregated_output: '' };
    const both = reduced(item('item.completed', failed), item('item.completed', fine));
    expect(both).toMatchObject({ sandboxFailures: 1, commands: 2 });
  });
});
