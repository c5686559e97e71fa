import { createHmac } from 'node:crypto';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';

/** Milliseconds that a webhook has for the whole of an answer. */
const ANSWER_MS = 10_000;
/** Bytes of an answer's body that are read, and forgotten, so that the other side can finish it. */
const BODY_BYTES = 64 * 1024;

/** What a webhook answered; nothing of its body is kept. */
export interface WebhookAnswer {
  readonly status: number;
  /** The header `Retry-After` as it came. */
  readonly retryAfter: string | undefined;
}

/** A webhook that said nothing in time. */
export class AnswerTimeoutError extends Error {
  override readonly name = 'AnswerTimeoutError';
}

export interface Post {
  readonly url: URL;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The header that proves who sent a body and when: HMAC-SHA256 of `<timestamp>.<body>`, in hex. */
export const signatureOf = (secret: string, timestamp: string, body: string): string =>
  `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

/**
 * Posts JSON once, on a connection of its own, and follows no redirect.
 *
 * @throws Error of the connection; whether the other side took the body is then unknown.
 */
export function post({ url, body, headers, signal }: Post): Promise<WebhookAnswer> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const timeout = AbortSignal.timeout(ANSWER_MS);
    const length = Buffer.byteLength(body);
    const sent = send(url, {
      method: 'POST',
      agent: false,
      signal: AbortSignal.any([signal, timeout]),
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': length },
    });
    sent.on('error', (error) => {
      reject(timeout.aborted ? new AnswerTimeoutError() : error);
    });
    sent.on('response', (response) => {
      forgetBody(response);
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
    });
    sent.end(body);
  });
}

function forgetBody(response: IncomingMessage): void {
  let read = 0;
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > BODY_BYTES) response.destroy();
  });
}
