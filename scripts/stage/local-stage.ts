import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homePath } from '../../client/home';
import { openSession, type Session } from '../../client/index';
import { startEmbeddedServer, type EmbeddedServer } from '../../cli/up/embedded-server';
import type { ProcessIdentity } from '../../cli/up/process-identity';
import { findTemporalBinary } from '../../cli/up/temporal-binary';
import { endAll, processesOn } from './processes';
import { endChild, startWorker, type WorkerProcess } from './worker';

export interface StageOptions {
  /** First part of the temporary folder's name. */
  readonly name: string;
  /** What the workers and commands get besides; PERDURE_CODEX_BIN of the caller is kept only by naming it here. */
  readonly env?: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/**
 * A home of its own in a temporary folder, with the server of `perdure up` on free ports and workers that can be
 * killed. Closing it ends every process that was started on the folder.
 */
export class LocalStage {
  readonly children = new Set<ChildProcess>();

  private constructor(
    readonly root: string,
    readonly env: NodeJS.ProcessEnv,
    private readonly parts: { readonly server: EmbeddedServer; readonly session: Session },
  ) {}

  static async open({ name, env = {}, signal }: StageOptions): Promise<LocalStage> {
    const root = await realpath(await mkdtemp(join(tmpdir(), `${name}-`)));
    const home = join(root, 'home');
    let server: EmbeddedServer | undefined;
    try {
      await mkdir(home, { mode: 0o700 });
      const binary = findTemporalBinary(process.env, homePath(process.env));
      server = await startEmbeddedServer({
        env: { TEMPORAL_CLI_PATH: binary },
        home,
        namespace: 'default',
        port: 0,
        uiPort: 0,
        note: () => undefined,
        signal,
      });
      const own = await environment(root, server.address);
      const opened = await openSession({ ...own, ...env });
      if (!opened.success) throw new Error(opened.error);
      return new LocalStage(root, { ...own, ...env }, { server, session: opened.session });
    } catch (error) {
      await server?.stop();
      await rm(root, { recursive: true, force: true });
      throw error;
    }
  }

  get server(): EmbeddedServer {
    return this.parts.server;
  }

  /** A client's way to the product; it knows `env` as it was at the opening. */
  get session(): Session {
    return this.parts.session;
  }

  get home(): string {
    return join(this.root, 'home');
  }

  async startWorker(): Promise<WorkerProcess> {
    const worker = await startWorker(this.env, join(this.root, 'workers.log'));
    this.children.add(worker.child);
    return worker;
  }

  /** Ends everything; answers the processes that would have stayed. The folder goes too, unless it is kept. */
  async close({ isKept = false }: { isKept?: boolean } = {}): Promise<ProcessIdentity[]> {
    await this.session.close();
    for (const child of this.children) await endChild(child);
    const left = await this.server.stop().then(() => processesOn(this.root));
    await endAll(left);
    if (!isKept) await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
    return left;
  }
}

/** The caller's environment without anything that would lead to another server, home or agent. */
async function environment(root: string, address: string): Promise<NodeJS.ProcessEnv> {
  const profiles = join(root, 'temporal.toml');
  await writeFile(profiles, '[profile.default]\n');
  const foreign = /^(TEMPORAL|PERDURE)_|^(CODEX_HOME|GIT_DIR|GIT_WORK_TREE)$/;
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(inherited),
    PERDURE_HOME: join(root, 'home'),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_CONFIG_FILE: profiles,
  };
}
