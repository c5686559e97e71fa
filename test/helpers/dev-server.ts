import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTE } from '../../contract/names';

/** The Temporal binary that set-up took. */
export function temporalBinary(): string {
  const cached = join(process.env.PERDURE_HOME ?? join(homedir(), '.perdure'), 'bin', 'temporal');
  return process.env.TEMPORAL_CLI_PATH ?? (existsSync(cached) ? cached : 'temporal');
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A real development server on loopback; with a file it can be killed and started again on what it stored. */
export class DevServer {
  private child: ChildProcess | undefined;
  private connection: Connection | undefined;

  private constructor(
    private readonly port: number,
    private readonly file: string | undefined,
    private readonly settings: readonly string[],
  ) {}

  /** Starts one; `settings` are dynamic configuration values, such as `history.maxTotalUpdates=500`. */
  static async start(file?: string, settings: readonly string[] = []): Promise<DevServer> {
    const server = new DevServer(await freePort(), file, settings);
    await server.restart();
    return server;
  }

  get address(): string {
    return `127.0.0.1:${String(this.port)}`;
  }

  get client(): Client {
    if (this.connection === undefined) throw new Error('the server is not running');
    return new Client({ connection: this.connection });
  }

  async restart(): Promise<void> {
    const attributes = Object.values(SEARCH_ATTRIBUTE).flatMap(({ name }) => ['--search-attribute', `${name}=Keyword`]);
    const options = ['--headless', '--ip', '127.0.0.1', '--port', String(this.port), '--log-level', 'never'];
    const tuning = [
      ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=10000'],
      ...['--dynamic-config-value', 'history.workflowIdReuseMinimalInterval="1ms"'],
      ...this.settings.flatMap((setting) => ['--dynamic-config-value', setting]),
    ];
    const file = this.file === undefined ? [] : ['--db-filename', this.file];
    this.child = spawn(temporalBinary(), ['server', 'start-dev', ...options, ...tuning, ...attributes, ...file], {
      stdio: 'ignore',
    });
    const start = { hasEnded: false };
    const note = () => (start.hasEnded = true);
    this.child.once('error', note).once('exit', note);
    this.connection ??= Connection.lazy({ address: this.address });
    await until(async () => start.hasEnded || (await this.answers()));
    if (start.hasEnded) throw new Error(`${temporalBinary()} ended before it answered; run npm run setup`);
  }

  /** Ends the server at once, as a power cut would. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.connection?.close();
    await this.kill();
  }

  private async answers(): Promise<boolean> {
    try {
      await this.client.workflowService.describeNamespace({ namespace: 'default' });
      return true;
    } catch {
      return false;
    }
  }
}

/** Waits until a condition holds; the test's own timeout bounds it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 25));
}
