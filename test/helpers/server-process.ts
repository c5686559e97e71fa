import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, defaultGrpcRetryOptions, type ConnectionOptions } from '@temporalio/client';
import { retryUntilClosed } from '../../client/call-retry';

/** A binary that set-up took: the one that a variable names, else the cached one, else the one on PATH. */
export function installedBinary(file: string, variable: string): string {
  const cached = join(process.env.PERDURE_HOME ?? join(homedir(), '.perdure'), 'bin', file);
  return process.env[variable] ?? (existsSync(cached) ? cached : file);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A test ends servers and waits for the next one: its calls are tried again soon, for long. */
const RETRY = retryUntilClosed({ ...defaultGrpcRetryOptions({ maxAttempts: 100 }), delayFunction: () => 100 });

/** A Temporal server of a test in a process of its own, on loopback. */
export abstract class ServerProcess {
  private child: ChildProcess | undefined;
  private connected: Connection | undefined;
  protected constructor(protected readonly port: number) {}

  protected abstract readonly command: readonly [binary: string, ...args: string[]];
  /** The command that provides the binary. */
  protected abstract readonly setup: string;
  /** What the connection to it needs besides the address. */
  protected readonly connectionOptions: ConnectionOptions = {};

  get address(): string {
    return `127.0.0.1:${String(this.port)}`;
  }

  get client(): Client {
    return new Client({ connection: this.connection });
  }

  protected get connection(): Connection {
    if (this.connected === undefined) throw new Error('the server is not running');
    return this.connected;
  }

  async restart(): Promise<void> {
    const [binary, ...args] = this.command;
    this.child = spawn(binary, args, { stdio: 'ignore' });
    const start = { hasEnded: false };
    const note = () => (start.hasEnded = true);
    this.child.once('error', note).once('exit', note);
    this.connected ??= Connection.lazy({
      ...this.connectionOptions,
      address: this.address,
      interceptors: [RETRY],
    });
    await until(async () => start.hasEnded || (await this.answers()));
    if (start.hasEnded) throw new Error(`${binary} ended before it answered; run ${this.setup}`);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Ends the server at once, as a power cut would. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.connected?.close();
    await this.kill();
  }

  private async answers(): Promise<boolean> {
    try {
      await this.connection.workflowService.describeNamespace({ namespace: 'default' });
      return true;
    } catch {
      return false;
    }
  }
}

/** A port that was free may be taken a moment later, also by a part of another server. */
const TRIES = 3;

/** Starts a server on a free port. */
export async function startOnFreePort<S extends ServerProcess>(make: (port: number) => S): Promise<S> {
  for (let tries = 1; ; tries += 1) {
    const server = make(await freePort());
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (tries === TRIES) throw error;
    }
  }
}

/** Waits until a condition holds; the test's own timeout bounds it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 25));
}
