import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/** Name and value of the credential that the home's configuration asks for. */
export const SCRIPTED_KEY = { SCRIPTED_KEY: 'scripted-secret' };

const itemSchema = z.looseObject({
  type: z.string(),
  role: z.string().optional().catch(undefined),
  content: z
    .array(z.looseObject({ text: z.string().optional() }))
    .optional()
    .catch(undefined),
  output: z.unknown().optional(),
});
type Item = z.infer<typeof itemSchema>;

const requestSchema = z.looseObject({
  input: z.array(itemSchema),
  client_metadata: z.looseObject({ thread_id: z.string().optional() }).optional(),
});

/** One line of a script: `@name argument`. */
interface Line {
  readonly name: string;
  readonly argument: string;
}

/** What Codex asked the model: the thread, and every user message that it sent along. */
export interface SeenRequest {
  readonly threadId: string | undefined;
  readonly userMessages: string[];
}

const LINE = /^@(say|shell|sleep|usage|fail)(?: (.*))?$/gm;
const STILL_RUNS = /^Process running with session ID (\d+)$/m;

const words = ({ content }: Item): string => (content ?? []).map((part) => part.text ?? '').join('');
const isUser = ({ type, role }: Item): boolean => type === 'message' && role === 'user';
/** Messages that Codex adds for the user begin with a tag. */
const isPrompt = (item: Item): boolean => isUser(item) && !/^<[a-z_]+>/.test(words(item));

/** Cuts a prompt's script into answers: each ends with what the model hands back, a message or a command. */
function answersIn(prompt: string): Line[][] {
  const answers: Line[][] = [];
  let open: Line[] = [];
  for (const [, name = '', argument = ''] of prompt.matchAll(LINE)) {
    open.push({ name, argument });
    if (name !== 'say' && name !== 'shell' && name !== 'fail') continue;
    answers.push(open);
    open = [];
  }
  return answers;
}

/** The answer that is due: one for each command that has ended since the prompt; one that still runs is waited for. */
function dueAnswer(input: Item[]): Line[] {
  const begin = input.findLastIndex(isPrompt);
  const prompt = input[begin];
  const answers = prompt === undefined ? [] : answersIn(words(prompt));
  let ended = 0;
  let session: string | undefined;
  for (const item of input.slice(begin + 1).filter(({ type }) => type.endsWith('_output'))) {
    session = STILL_RUNS.exec(typeof item.output === 'string' ? item.output : JSON.stringify(item.output))?.[1];
    if (session === undefined) ended += 1;
  }
  if (session !== undefined) return [{ name: 'wait', argument: session }];
  return answers[ended] ?? [{ name: 'say', argument: 'ok' }];
}

/** What a script's line makes the model hand back, or undefined when it only shapes the answer. */
function handedBack({ name, argument }: Line, id: string): object | undefined {
  const call = (tool: string, given: object) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: tool,
    arguments: JSON.stringify(given),
  });
  switch (name) {
    case 'say':
      return {
        type: 'message',
        id: `msg_${id}`,
        role: 'assistant',
        content: [{ type: 'output_text', text: argument }],
      };
    case 'shell':
      return call('exec_command', { cmd: argument });
    case 'wait':
      return call('write_stdin', { session_id: Number(argument), yield_time_ms: 60_000 });
    default:
      return undefined;
  }
}

function usageOf(answer: Line[]): object {
  const given = answer.find(({ name }) => name === 'usage')?.argument.split(' ');
  const [input = 100, output = 10] = (given ?? []).map(Number);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

/**
 * A model on loopback for the real Codex CLI: the prompt is its script. The lines are `@say TEXT` (a message, ends the
 * turn), `@shell COMMAND` (the next answer comes when it has ended), `@sleep SECONDS` (silence before what follows),
 * `@usage IN OUT` (tokens of this answer; else 100 and 10) and `@fail STATUS` (an HTTP error instead of an answer).
 */
export class ScriptedEndpoint {
  readonly requests: SeenRequest[] = [];
  private served = 0;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  static async start(): Promise<ScriptedEndpoint> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = new ScriptedEndpoint(server, (server.address() as AddressInfo).port);
    server.on('request', (request, response) => {
      // A client that was killed in the middle of an answer is part of the tests.
      endpoint.answer(request, response).catch(() => response.destroy());
    });
    return endpoint;
  }

  /** Makes a directory a Codex home whose model is this endpoint. */
  makeHome(directory: string): string {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'config.toml'), configuration(this.port));
    return directory;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url !== '/v1/responses') {
      response.writeHead(404).end();
      return;
    }
    const body = requestSchema.parse(JSON.parse(await text(request)));
    this.requests.push({
      threadId: body.client_metadata?.thread_id,
      userMessages: body.input.filter(isUser).map(words),
    });
    this.served += 1;
    await play(response, dueAnswer(body.input), String(this.served));
  }
}

async function play(response: ServerResponse, answer: Line[], id: string): Promise<void> {
  const failed = answer.find(({ name }) => name === 'fail');
  if (failed !== undefined) {
    response.writeHead(Number(failed.argument), { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'scripted failure', type: 'scripted' } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (event: { type: string }) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send(Object.assign({ type: 'response.created' }, { response: { id: `resp_${id}` } }));
  for (const [index, line] of answer.entries()) {
    if (line.name === 'sleep') await sleep(Number(line.argument) * 1_000);
    const item = handedBack(line, `${id}_${index}`);
    if (item !== undefined) send(Object.assign({ type: 'response.output_item.done' }, { output_index: index, item }));
  }
  const done = { id: `resp_${id}`, usage: usageOf(answer) };
  send(Object.assign({ type: 'response.completed' }, { response: done }));
  response.end();
}

/** Points Codex at the endpoint and keeps it from asking anything else of the network. */
const configuration = (port: number): string => `model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
allow_login_shell = false
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false
unbounded_connection_retries = false

[shell_environment_policy]
exclude = ["SCRIPTED_KEY"]

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"
`;
