import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request as the webhook got it, its body whole. */
export interface Delivered {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How the webhook treats a request that it has read. */
export type Answering = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export const answer =
  (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };

/** Drops the connection without a word. */
export const drop: Answering = (_, request) => {
  request.socket.destroy();
};

/** Never answers. */
export const hang: Answering = () => undefined;

/** A webhook on loopback that does what the test says: each answer once, the last one for ever. */
export class WebhookServer {
  readonly requests: Delivered[] = [];
  private answers: Answering[] = [answer(204)];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WebhookServer> {
    const server = createServer((request, response) => void webhook.take(request, response));
    const webhook = new WebhookServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return webhook;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}/hook`;
  }

  play(...answers: Answering[]): void {
    this.answers = answers;
  }

  /** Ids of the receipts that were posted, in the order of their coming. */
  keys(): unknown[] {
    return this.requests.map(({ headers }) => headers['idempotency-key']);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    this.requests.push({ path: request.url ?? '', headers: request.headers, body });
    const [next = answer(204)] = this.answers;
    if (this.answers.length > 1) this.answers.shift();
    await next(response, request);
  }
}

/** Verifies a signature as a receiver does, from what came over the wire and the shared secret alone. */
export function isSigned({ headers, body }: Delivered, secret: string): boolean {
  const timestamp = String(headers['perdure-timestamp']);
  const expected = createHmac('sha256', secret).update(timestamp).update('.').update(body).digest('hex');
  return headers['perdure-signature'] === `v1=${expected}` && /^\d{10}$/.test(timestamp);
}
