import { once } from 'node:events';
import {
  connect,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** What becomes of a call: it goes through, its answer gets lost, or the proxy answers it with a gRPC status. */
export type Fate = 'pass' | 'lose' | { readonly status: number; readonly message: string };

const UNAVAILABLE = 14;

/** A gRPC proxy in front of a server on loopback: it can lose answers, refuse calls and cut connections. */
export class GrpcProxy {
  private readonly server: Http2Server = createServer();
  private readonly sessions = new Set<{ destroy(): void }>();
  private upstream: ClientHttp2Session | undefined;
  /** Decides about each call by its method, such as `StartWorkflowExecution`. */
  decide: (method: string) => Fate = () => 'pass';

  private constructor(private readonly target: string) {
    this.server.on('session', (session) => {
      this.sessions.add(session);
      session.on('error', () => undefined).on('close', () => this.sessions.delete(session));
    });
    this.server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.take(stream, headers);
    });
  }

  static async start(target: string): Promise<GrpcProxy> {
    const proxy = new GrpcProxy(target);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** Cuts every connection; new ones are taken at once. */
  cut(): void {
    for (const session of this.sessions) session.destroy();
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    this.upstream?.destroy();
    if (this.server.listening) await once(this.server, 'close');
  }

  private take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const fate = this.decide(method);
    if (typeof fate === 'object') {
      answer(stream, fate);
      return;
    }
    const { [':authority']: _, ...sent } = headers;
    const call = this.toServer().request(sent);
    call.on('error', () => {
      answer(stream, { status: UNAVAILABLE, message: 'the server is gone' });
    });
    stream.pipe(call);
    stream.on('close', () => {
      call.close();
    });
    call.on('response', (received) => {
      if (fate === 'lose') stream.session?.destroy();
      else if (!stream.destroyed) stream.respond(received, { waitForTrailers: true });
    });
    if (fate === 'lose') return;
    forwardTrailers(call, stream);
    call.pipe(stream);
  }

  private toServer(): ClientHttp2Session {
    if (this.upstream === undefined || this.upstream.destroyed || this.upstream.closed) {
      this.upstream = connect(`http://${this.target}`);
      this.upstream.on('error', () => undefined);
    }
    return this.upstream;
  }
}

function forwardTrailers(call: ReturnType<ClientHttp2Session['request']>, stream: ServerHttp2Stream): void {
  let trailers: IncomingHttpHeaders = {};
  call.on('trailers', (received: IncomingHttpHeaders) => {
    trailers = received;
  });
  stream.on('wantTrailers', () => {
    stream.sendTrailers(trailers);
  });
}

function answer(stream: ServerHttp2Stream, { status, message }: { status: number; message: string }): void {
  if (stream.destroyed || stream.headersSent) return;
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  stream.respond({ ...headers, 'grpc-status': String(status), 'grpc-message': message }, { endStream: true });
}
