import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../../../client/index';
import { endAll, processesOn } from '../../../scripts/stage/processes';
import { CountedProvider } from '../../helpers/counted-provider';
import { DevServer } from '../../helpers/dev-server';
import { Machine } from '../../helpers/machine';
import { killThem, runnersOf } from '../../helpers/outside-view';
import { end } from '../../helpers/process';
import { root } from '../../helpers/root';

/** What is killed; `executor` is runner and provider, `power` is everything at once. */
export type Target = 'orchestrator' | 'host' | 'workers' | 'runner' | 'provider' | 'executor' | 'server' | 'power';

/** The real Codex, and the home that points it at the scripted model. */
export interface RealCodex {
  readonly binary: string;
  readonly env: NodeJS.ProcessEnv;
}

const ROLES = ['orchestrator', 'host'] as const;
const preload = join(root, 'test', 'fixtures', 'crash-point.cjs');

/** One machine with a server of its own: one task at a time is killed on it. */
export class Lane {
  private readonly workers = new Map<(typeof ROLES)[number], ChildProcess>();
  private isServerDown = false;

  private constructor(
    readonly name: string,
    readonly folder: string,
    private readonly parts: {
      readonly server: DevServer;
      readonly machine: Machine;
      readonly provider: CountedProvider;
      readonly session: Session;
      readonly codexHome: string | undefined;
    },
  ) {}

  /** Opens one in a folder, with the stub or with the real Codex. */
  static async open(folder: string, codex?: RealCodex): Promise<Lane> {
    mkdirSync(join(folder, 'points'), { recursive: true });
    mkdirSync(join(folder, 'tmp'));
    const server = await DevServer.start(join(folder, 'temporal.db'));
    const provider = new CountedProvider(folder, codex && { real: codex.binary });
    const preloaded = { NODE_OPTIONS: `--require ${preload}`, CRASH_POINTS: join(folder, 'points') };
    const env = {
      ...preloaded,
      ...codex?.env,
      PERDURE_CODEX_BIN: provider.program,
      PERDURE_PROVIDER_ENV: Object.keys(preloaded).join(','),
      TMPDIR: join(folder, 'tmp'),
    };
    const machine = await Machine.make(server, env, folder);
    const name = codex === undefined ? 'stub' : 'codex';
    const session = await machine.session();
    const lane = new Lane(name, folder, { server, machine, provider, session, codexHome: codex?.env['CODEX_HOME'] });
    await lane.restore();
    return lane;
  }

  get server(): DevServer {
    return this.parts.server;
  }
  get machine(): Machine {
    return this.parts.machine;
  }
  get provider(): CountedProvider {
    return this.parts.provider;
  }
  get session(): Session {
    return this.parts.session;
  }

  /** Has the next process that comes to a point stand still there. */
  arm(point: string): void {
    for (const state of ['armed', 'reached', 'go']) rmSync(this.pointFile(point, state), { force: true });
    writeFileSync(this.pointFile(point, 'armed'), '');
  }

  isReached(point: string): boolean {
    return existsSync(this.pointFile(point, 'reached'));
  }

  /** Lets who stands at a point go on, and nobody stand there any more. */
  disarm(point: string): void {
    writeFileSync(this.pointFile(point, 'go'), '');
    rmSync(this.pointFile(point, 'armed'), { force: true });
  }

  /** Kills with SIGKILL; answers how many processes that were. */
  async kill(target: Target, attemptId: string | undefined): Promise<number> {
    const runners = () => runnersOf(this.machine.home.path);
    const providers = () => (attemptId === undefined ? [] : this.provider.processOf(attemptId));
    switch (target) {
      case 'orchestrator':
      case 'host':
        return this.endWorkers([target]);
      case 'workers':
        return this.endWorkers(ROLES);
      case 'runner':
        return count(runners(), killThem);
      case 'provider':
        return count(providers(), killThem);
      case 'executor': {
        const [runner, provider] = [runners(), providers()];
        return runner.length === 0 || provider.length === 0 ? 0 : count([...runner, ...provider], killThem);
      }
      case 'server':
        this.isServerDown = true;
        await this.server.kill();
        return 1;
      case 'power':
        return this.cutPower();
    }
  }

  /** Starts again what is down, as a supervisor does: server and workers, never a runner or a provider. */
  async restore(): Promise<void> {
    if (this.isServerDown) await this.server.restart();
    this.isServerDown = false;
    const missing = ROLES.filter((role) => !isAlive(this.workers.get(role)));
    await Promise.all(missing.map(async (role) => this.workers.set(role, await this.machine.startWorker(role))));
  }

  /** What the provider of an attempt itself printed: its thread, and whether it came to its end. */
  wordsOf(attemptId: string): { threadId: string | null; isFinished: boolean } {
    const file = this.machine.home.file('runs', attemptId, 'stdout.jsonl');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const threadId = /^\{"type":"thread\.started","thread_id":"([^"]+)"/m.exec(text)?.[1] ?? null;
    return { threadId, isFinished: /^\{"type":"turn\.completed"/m.test(text) };
  }

  /** Whether the provider itself keeps a thread; the stub keeps any, Codex one whose rollout holds something. */
  hasThread(threadId: string): boolean {
    const { codexHome } = this.parts;
    if (codexHome === undefined) return true;
    const sessions = join(codexHome, 'sessions');
    const files = existsSync(sessions) ? readdirSync(sessions, { recursive: true, encoding: 'utf8' }) : [];
    return files.some((name) => name.endsWith(`${threadId}.jsonl`) && statSync(join(sessions, name)).size > 0);
  }

  async close(): Promise<void> {
    await this.machine.dispose();
    await this.server.stop();
  }

  private pointFile(point: string, state: string): string {
    return join(this.folder, 'points', `${point}.${state}`);
  }

  private async endWorkers(roles: readonly (typeof ROLES)[number][]): Promise<number> {
    const children = roles.flatMap((role) => this.workers.get(role) ?? []).filter(isAlive);
    await Promise.all(children.map((child) => end(child)));
    return children.length;
  }

  private async cutPower(): Promise<number> {
    this.isServerDown = true;
    const all = processesOn(this.folder);
    await endAll(all);
    // The children that are ours have to be seen as ended.
    await Promise.all([...this.workers.values()].map((child) => end(child)));
    await this.server.kill();
    return all.length;
  }
}

const isAlive = (child: ChildProcess | undefined): child is ChildProcess =>
  child !== undefined && child.exitCode === null && child.signalCode === null;

function count<T>(list: T[], act: (list: T[]) => void): number {
  act(list);
  return list.length;
}
