import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { appServerOf } from '../../../activities/provider/app-server';
import { AppServerClient } from '../../../activities/provider/app-server-client';
import { TurnEvents } from '../../../activities/provider/app-server-events';
import { ownIdentity } from '../../../activities/provider/process-identity';
import { runPaths } from '../../../activities/provider/run-directory';
import { runnerEntry } from '../../helpers/runner-entry';

const THREAD = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf610';
let directory: string;
let socket: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-app-server-'));
  socket = join(directory, 'control.sock');
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('a client of an app server', () => {
  let http: Server | undefined;
  let server: WebSocketServer | undefined;
  afterEach(() => {
    for (const client of server?.clients ?? []) client.terminate();
    server?.close();
    http?.close();
  });

  /** A server that says what `reply` makes of each message. */
  async function serve(reply: (message: { id?: number; method?: string }) => string[]): Promise<void> {
    http = createServer();
    server = new WebSocketServer({ server: http });
    server.on('connection', (client) => {
      client.on('message', (data: Buffer) => {
        for (const text of reply(JSON.parse(data.toString()) as { id?: number; method?: string })) client.send(text);
      });
    });
    http.listen(socket);
    await once(http, 'listening');
  }
  const answers = (text: (id: number) => string[]) =>
    serve(({ id, method }) => {
      if (id === undefined) return [];
      return method === 'initialize' ? [JSON.stringify({ id, result: {} })] : text(id);
    });
  const ask = async (method: string) => {
    const client = await AppServerClient.open(socket);
    try {
      return await client.request(method, {}, z.object({ n: z.number() }));
    } finally {
      client.close();
    }
  };

  it('gives an answer, also between other messages', async () => {
    await answers((id) => ['{"method":"noise"}', '{"id":99,"result":1}', JSON.stringify({ id, result: { n: 4 } })]);
    expect(await ask('read')).toEqual({ n: 4 });
  });

  it.each([
    ['a refusal', (id: number) => [JSON.stringify({ id, error: { message: 'thread not found' } })], 'thread not found'],
    ['another shape', (id: number) => [JSON.stringify({ id, result: { n: 'x' } })], 'unknown shape'],
    ['what is no message', () => ['{"id":'], 'closed the connection'],
    ['a message of another kind', () => ['[1,2]'], 'closed the connection'],
  ])('fails by name with %s', async (_what, text, words) => {
    await answers(text);
    await expect(ask('read')).rejects.toThrow(words);
  });

  it('refuses the questions of its own turn, and leaves those of other turns to who began them', async () => {
    const answered: unknown[] = [];
    const question = (id: number, turnId: string) => JSON.stringify({ id, method: 'ask', params: { turnId } });
    await serve((message) => {
      const { id, method } = message;
      if (method === undefined) answered.push(id);
      if (method !== 'read') return method === 'initialize' ? [JSON.stringify({ id, result: {} })] : [];
      return [question(7, 'theirs'), question(8, 'ours'), JSON.stringify({ id, result: {} })];
    });
    const client = await AppServerClient.open(socket);
    client.refuseQuestionsOf('ours');
    await client.request('read', {}, z.unknown());
    await client.request('read', {}, z.unknown());
    client.close();
    expect([...new Set(answered)]).toEqual([8]);
  });

  it('has a turn that completed, though the server goes away right after it (CX-26)', async () => {
    const attemptId = randomUUID();
    const paths = runPaths(directory, attemptId);
    mkdirSync(paths.directory, { recursive: true });
    const appServer = { process: ownIdentity(), socket, threadId: THREAD, sandbox: 'read-only', model: null };
    const limits = { timeMs: 1, outputBytes: 1, escalation: [1, 1] };
    const what = { command: 'node', argv: [], cwd: directory, codexHome: directory, cliVersion: null };
    writeFileSync(paths.request, JSON.stringify({ attemptId, ...what, ...limits, appServer }));
    writeFileSync(paths.claim, JSON.stringify(ownIdentity()));
    await serve(({ id, method }) => {
      const answer = (result: object) => JSON.stringify({ id, result });
      const thread = { id: THREAD, status: { type: 'idle' } };
      const completed = { method: 'turn/completed', params: { turn: { id: 'mine', status: 'completed' } } };
      if (method === 'initialize') return [answer({})];
      if (method === 'thread/resume') return [answer({ thread, sandbox: { type: 'readOnly' } })];
      if (method === 'turn/start') return [answer({ turn: { id: 'mine' } }), JSON.stringify(completed)];
      for (const client of server?.clients ?? []) if (method !== 'initialized') client.terminate();
      return [];
    });
    const program = join(runnerEntry(), '..', 'app-server-turn.js');
    const turn = spawn(process.execPath, [program, paths.directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed, [code]] = await Promise.all([text(turn.stdout), once(turn, 'close')]);
    expect(printed).toContain('turn.completed');
    expect(code).toBe(0);
  });

  it('fails by name where nobody listens', async () => {
    await expect(ask('read')).rejects.toThrow(`the app server at ${socket} does not answer`);
  });
});

describe('the app server of a thread', () => {
  it('is none where nobody has the thread open, whatever listens in the home', () => {
    mkdirSync(join(directory, 'app-server-control'));
    mkdirSync(join(directory, 'thread-writer-locks'));
    writeFileSync(join(directory, 'thread-writer-locks', `${THREAD}.lock`), '');
    writeFileSync(join(directory, 'app-server-control', 'app-server-control.sock'), '');
    expect(appServerOf(directory, THREAD)).toBeNull();
    expect(appServerOf(directory, '../x')).toBeNull();
  });
});

describe('the events of a turn in an app server', () => {
  const printed = (...notifications: { method: string; params: unknown }[]) => {
    const events: object[] = [];
    const turn = new TurnEvents('turn-1', (event) => events.push(event));
    return { ends: notifications.map((notification) => turn.take(notification)), events };
  };
  const item = (method: string, fields: object, turnId = 'turn-1') => ({
    method,
    params: { threadId: THREAD, turnId, item: { id: 'i', ...fields } },
  });
  const ended = (status: string, id = 'turn-1') => ({
    method: 'turn/completed',
    params: { threadId: THREAD, turn: { id, status, error: status === 'failed' ? { message: 'no' } : null } },
  });

  it('are spelt as Codex prints them, without what it does not print (CX-26)', () => {
    const total = { inputTokens: 5, cachedInputTokens: 1, outputTokens: 2 };
    const { ends, events } = printed(
      item('item/completed', { type: 'userMessage' }),
      item('item/started', { type: 'agentMessage', text: '' }),
      item('item/started', { type: 'commandExecution', status: 'inProgress', aggregatedOutput: null }),
      item('item/completed', { type: 'commandExecution', status: 'failed', aggregatedOutput: 'x', exitCode: 1 }),
      item('item/completed', { type: 'agentMessage', text: 'done' }),
      item('item/completed', { type: 'agentMessage', text: 'of another turn' }, 'turn-2'),
      { method: 'error', params: { turnId: 'turn-1', error: { message: 'once more' }, willRetry: true } },
      { method: 'thread/tokenUsage/updated', params: { turnId: 'turn-1', tokenUsage: { total } } },
      ended('completed', 'turn-2'),
      ended('completed'),
    );
    expect(events).toEqual([
      {
        type: 'item.started',
        item: { id: 'i', type: 'command_execution', status: 'in_progress', aggregated_output: null },
      },
      {
        type: 'item.completed',
        item: { id: 'i', type: 'command_execution', status: 'failed', aggregated_output: 'x', exit_code: 1 },
      },
      { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'done' } },
      { type: 'error', message: 'once more' },
      { type: 'turn.completed', usage: { input_tokens: 5, cached_input_tokens: 1, output_tokens: 2 } },
    ]);
    expect(ends).toEqual([...Array<null>(9).fill(null), 'completed']);
  });

  it('say how it failed, and nothing of an interrupt', () => {
    expect(printed(ended('failed'))).toEqual({
      ends: ['failed'],
      events: [{ type: 'turn.failed', error: { message: 'no' } }],
    });
    expect(printed(ended('interrupted'))).toEqual({ ends: ['interrupted'], events: [] });
  });

  it('come of whatever a server says, without a throw', () => {
    const methods = ['item/started', 'item/completed', 'error', 'thread/tokenUsage/updated', 'turn/completed', 'other'];
    const params = fc.oneof(fc.jsonValue(), fc.record({ turnId: fc.constant('turn-1'), item: fc.jsonValue() }));
    fc.assert(
      fc.property(fc.constantFrom(...methods), params, (method, said) => {
        printed({ method, params: said });
      }),
    );
  });
});
