import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { openSession, type Session } from '../../client/index';
import { valueOf } from '../../client/outcome';
import { temporalBinary } from './dev-server';
import { startNode } from './process';
import { root } from './root';

const readySchema = z.object({
  success: z.literal(true),
  ready: z.literal(true),
  address: z.string(),
  ui: z.string().nullish(),
  role: z.string().optional(),
  hostId: z.string().optional(),
  pid: z.number(),
});
export type Ready = z.infer<typeof readySchema>;

const perdure = join(root, 'bin', 'perdure.js');

/** A home of its own, and the `perdure` processes that were started on it. */
export class LocalHome {
  private readonly children: ChildProcess[] = [];
  private readonly sessions: Session[] = [];

  private constructor(readonly path: string) {}

  static async make(parent = tmpdir()): Promise<LocalHome> {
    return new LocalHome(await mkdtemp(join(parent, 'perdure-home-')));
  }

  file(...names: string[]): string {
    return join(this.path, ...names);
  }

  /** A caller on this home, in this process; it is closed when the home is removed. */
  async session(address: string): Promise<Session> {
    const { session } = valueOf(await openSession({ PERDURE_HOME: this.path, TEMPORAL_ADDRESS: address }));
    this.sessions.push(session);
    return session;
  }

  /** Starts a command, in a directory of its own where one is named, that says in one JSON line that it is ready. */
  async start(
    args: string[],
    env: NodeJS.ProcessEnv = {},
    cwd?: string,
  ): Promise<{ child: ChildProcess; ready: Ready }> {
    const { TEMPORAL_ADDRESS: _address, ...inherited } = process.env;
    const own = { PERDURE_HOME: this.path, TEMPORAL_CLI_PATH: temporalBinary() };
    const [child, line] = await startNode(perdure, [...args, '--json'], {
      env: { ...inherited, ...own, ...env },
      cwd,
    });
    this.children.push(child);
    return { child, ready: readySchema.parse(JSON.parse(line)) };
  }

  /** Ends what was started here and still runs. */
  async endAll(): Promise<void> {
    for (const child of this.children) if (isRunning(child.pid)) child.kill('SIGKILL');
    for (const child of this.children)
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  /** Ends what is left, the server included, and removes the home. */
  async remove(): Promise<void> {
    for (const session of this.sessions) await session.close();
    await this.endAll();
    const server = this.server();
    if (server && isRunning(server.pid)) process.kill(server.pid, 'SIGKILL');
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 });
  }

  /** What the home records of its server. */
  server(): { pid: number; address: string } | undefined {
    try {
      const text = readFileSync(this.file('temporal', 'server.json'), 'utf8');
      return z.object({ pid: z.number(), address: z.string() }).parse(JSON.parse(text));
    } catch {
      return undefined;
    }
  }
}

/** Whether a process is there and no zombie. */
export function isRunning(pid: number | undefined): boolean {
  const state = pid === undefined ? undefined : statOf(pid)?.state;
  return state !== undefined && state !== 'Z';
}

/** Processes whose parent is this one. */
export function childrenOf(pid: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((child) => isRunning(child) && statOf(child)?.parent === pid);
}

function statOf(pid: number): { state: string | undefined; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
