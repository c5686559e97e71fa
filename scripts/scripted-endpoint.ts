import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import { resolve } from 'node:path';
import { give, type Answer } from './endpoint/answer';
import { writeCodexConfig } from './endpoint/codex-config';
import { dueAnswer, requestSchema } from './endpoint/script';

/** One request of Codex, and what the model saw in it. */
export interface ModelRequest {
  readonly at: string;
  readonly threadId: string | null;
  readonly turnId: string | null;
  readonly prompt: string;
  /** Number of the answer within the prompt's script, from 0. */
  readonly position: number;
  /** How often exactly this answer was asked for, from 1: Codex repeats a request that failed. */
  readonly tries: number;
  /** The whole request as Codex sent it. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ScriptedEndpoint {
  readonly url: string;
  close(): Promise<void>;
  /** What was asked for so far, oldest first; the last 500. */
  requests(): readonly ModelRequest[];
}

const KEPT_REQUESTS = 500;

/**
 * Starts a model that plays scripts, on loopback, and points the Codex home `home` at it. Codex needs CODEX_HOME=home
 * and any SCRIPTED_KEY. The prompt is the script, one directive a line; other lines do not matter:
 *
 *   @shell COMMAND        a call of Codex's shell; the next line waits for its end
 *   @patch FILE TEXT      a patch that adds FILE with the one line TEXT
 *   @say TEXT             a message; the turn ends
 *   @sleep SECONDS        silence in the open stream
 *   @usage INPUT OUTPUT   token counts of this answer (else 100 and 10)
 *   @fail STATUS [TIMES]  an HTTP error in place of the answer, the first TIMES times (else always)
 *   @refuse STATUS BODY   an HTTP error with exactly this body in place of the answer
 *   @poison TEXT          from here on every request of the thread is refused with 400 and this text
 *
 * A prompt without directives is answered with "done". GET <url>/requests lists the requests as JSON.
 */
export async function startScriptedEndpoint(home: string): Promise<ScriptedEndpoint> {
  const log = new RequestLog();
  const server = createServer((request, response) => {
    serve(log, request, response).catch((error: unknown) => {
      if (!response.headersSent) response.statusCode = 500;
      response.end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : address)}`;
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  try {
    await writeCodexConfig(home, url);
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close, requests: () => log.requests };
}

class RequestLog {
  readonly requests: ModelRequest[] = [];
  private readonly tries = new Map<string, number>();

  /** Notes a request and gives the answer that is due. */
  take(body: unknown): Answer {
    const request = requestSchema.parse(body);
    const { prompt, position, steps } = dueAnswer(request);
    const threadId = request.client_metadata?.thread_id ?? null;
    const turnId = request.client_metadata?.turn_id ?? null;
    const key = [turnId ?? threadId, request.input.length].join('_');
    const tries = (this.tries.get(key) ?? 0) + 1;
    this.tries.set(key, tries);
    this.requests.push({ at: new Date().toISOString(), threadId, turnId, prompt, position, tries, body: request });
    if (this.requests.length > KEPT_REQUESTS) this.requests.shift();
    return { id: key.replaceAll(/\W/g, ''), tries, steps };
  }
}

async function serve(log: RequestLog, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method ?? ''} ${request.url ?? ''}`;
  if (route === 'GET /requests') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(log.requests));
  } else if (route === 'POST /v1/responses') {
    await give(response, log.take(await json(request)));
  } else {
    response.writeHead(404).end();
  }
}

/** `node dist/scripts/scripted-endpoint.js <codex home>`: runs until it is ended. */
async function main(home: string | undefined): Promise<void> {
  if (home === undefined) {
    process.stderr.write('usage: scripted-endpoint <codex home>\n');
    process.exitCode = 2;
    return;
  }
  const { url, close } = await startScriptedEndpoint(resolve(home));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
  process.stdout.write(`${JSON.stringify({ url, home: resolve(home) })}\n`);
}

if (require.main === module) {
  main(process.argv[2]).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
