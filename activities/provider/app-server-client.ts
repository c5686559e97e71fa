import WebSocket from 'ws';
import { z } from 'zod';
import { errorMessage } from './thrown';

/** The app server could not be reached, went away, or refused a request. */
export class AppServerError extends Error {}

/** The app server answered, and refused. */
export class AppServerRefusal extends AppServerError {}

/** What the server says of its own accord. */
export interface Notification {
  readonly method: string;
  readonly params: unknown;
}

const ANSWER_MS = 10_000;
/** Longest message that is taken: one event holds all that a command printed. */
const MAX_MESSAGE = 256 * 1024 * 1024;

const messageSchema = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});

const questionSchema = z.looseObject({ turnId: z.string() });

function parseMessage(text: string): z.output<typeof messageSchema> | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Answer = { readonly result: unknown } | { readonly error: string } | { readonly refusal: string };

/** A connection to a Codex app server: JSON-RPC without its version field, a message for each object. */
export class AppServerClient {
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private serial = 0;
  private turnId: string | undefined;
  /** Resolves when the connection is closed, whoever closed it. */
  readonly closed: Promise<void>;

  private constructor(
    private readonly socket: WebSocket,
    private readonly onNotification: (notification: Notification) => void,
  ) {
    socket.on('message', (data: Buffer) => {
      this.take(data.toString());
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        for (const answer of this.waiting.values()) answer({ error: 'the app server closed the connection' });
        resolve();
      });
    });
  }

  /**
   * Connects and introduces itself; `path` is that of the server's socket.
   * @throws AppServerError when nobody answers there.
   */
  static async open(
    path: string,
    onNotification: (notification: Notification) => void = () => undefined,
  ): Promise<AppServerClient> {
    const options = { handshakeTimeout: ANSWER_MS, maxPayload: MAX_MESSAGE };
    const socket = new WebSocket(`ws+unix://${path}:/`, options);
    const client = new AppServerClient(socket, onNotification);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.on('error', (error) => {
        reject(new AppServerError(`the app server at ${path} does not answer: ${errorMessage(error)}`));
      });
    });
    const clientInfo = { name: 'perdure', title: 'Perdure', version: '0' };
    const capabilities = { experimentalApi: false, requestAttestation: false };
    try {
      await client.request('initialize', { clientInfo, capabilities }, z.unknown());
      client.send({ method: 'initialized' });
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /**
   * Asks the server and waits for its answer.
   * @throws AppServerError when it refuses, answers something else, or stays silent.
   */
  async request<T>(method: string, params: object, schema: z.ZodType<T>): Promise<T> {
    const id = (this.serial += 1);
    const answer = await new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => {
        resolve({ error: 'no answer' });
      }, ANSWER_MS);
      this.waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      if (this.socket.readyState !== WebSocket.OPEN) resolve({ error: 'the app server closed the connection' });
      else this.send({ id, method, params });
    });
    this.waiting.delete(id);
    if ('error' in answer) throw new AppServerError(`${method}: ${answer.error}`);
    if ('refusal' in answer) throw new AppServerRefusal(`${method}: ${answer.refusal}`);
    const parsed = schema.safeParse(answer.result);
    if (!parsed.success) throw new AppServerError(`${method}: an answer of an unknown shape`);
    return parsed.data;
  }

  /** Has the questions of a turn refused; those of any other turn are for whoever began it. */
  refuseQuestionsOf(turnId: string): void {
    this.turnId = turnId;
  }

  close(): void {
    this.socket.terminate();
  }

  private send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  private take(text: string): void {
    const message = parseMessage(text);
    if (message === undefined) {
      // Whatever this is, it is no app server.
      this.close();
      return;
    }
    const { id, method, params, result, error } = message;
    if (method !== undefined && id === undefined) this.onNotification({ method, params });
    else if (method !== undefined) this.refuse(id, params);
    else if (typeof id === 'number')
      this.waiting.get(id)?.(error === undefined ? { result } : { refusal: error.message });
  }

  /** A run has nobody to ask, but a question is sent to everybody who has the thread open, and one answer counts. */
  private refuse(id: string | number | undefined, params: unknown): void {
    const asking = questionSchema.safeParse(params).data?.turnId;
    if (asking === undefined || asking !== this.turnId) return;
    this.send({ id, error: { code: -32601, message: 'nobody is there to answer' } });
  }
}
