import { spawn, type ChildProcess } from 'node:child_process';
import { z } from 'zod';
import { AppServerClient } from '../../activities/provider/app-server-client';
import { appServerOf } from '../../activities/provider/app-server';
import { findCodex } from '../../activities/provider/codex-binary';
import { end } from './process';
import { SCRIPTED_KEY } from './scripted-endpoint';
import { until } from './until';

const turnsSchema = z.object({ data: z.array(z.looseObject({ id: z.string(), status: z.string() })) });
const loadedSchema = z.object({ data: z.array(z.string()) });

/** A real app server of a Codex home, and somebody who has a thread open in it, as an editor has. */
export class OpenThread {
  private constructor(
    readonly server: ChildProcess,
    private readonly client: AppServerClient,
    readonly threadId: string,
  ) {}

  static async open(codexHome: string, threadId: string): Promise<OpenThread> {
    const env = { ...process.env, ...SCRIPTED_KEY, CODEX_HOME: codexHome };
    const codex = findCodex({ PATH: process.env['PATH'] });
    const server = spawn(codex, ['app-server', '--listen', 'unix://'], { env, stdio: 'ignore', cwd: codexHome });
    try {
      const socket = `${codexHome}/app-server-control/app-server-control.sock`;
      const client = await until(() => AppServerClient.open(socket).catch(() => null));
      await client.request('thread/resume', { threadId, excludeTurns: true }, z.unknown());
      await until(() => appServerOf(codexHome, threadId)?.process.pid === server.pid);
      return new OpenThread(server, client, threadId);
    } catch (error) {
      await end(server);
      throw error;
    }
  }

  /** Asks something in the thread, as its person does. */
  async ask(text: string): Promise<void> {
    const { threadId } = this;
    await this.client.request('turn/start', { threadId, input: [{ type: 'text', text }] }, z.unknown());
  }

  /** Runs a command in the thread, as its person does by `!`. */
  async shell(command: string): Promise<void> {
    await this.client.request('thread/shellCommand', { threadId: this.threadId, command }, z.unknown());
  }

  /** The thread's last turns, the newest first. */
  async turns() {
    const { data } = await this.client.request('thread/turns/list', { threadId: this.threadId, limit: 5 }, turnsSchema);
    return data;
  }

  /** Interrupts the turn that runs, as Escape does. */
  async interrupt(): Promise<void> {
    const [turn] = await this.turns();
    await this.client.request('turn/interrupt', { threadId: this.threadId, turnId: turn?.id }, z.unknown());
  }

  /** Deletes the thread, whatever runs in it. */
  async delete(): Promise<void> {
    await this.client.request('thread/delete', { threadId: this.threadId }, z.unknown());
  }

  async isLoaded(): Promise<boolean> {
    const { data } = await this.client.request('thread/loaded/list', {}, loadedSchema);
    return data.includes(this.threadId);
  }

  async close(): Promise<void> {
    this.client.close();
    await end(this.server);
  }
}
