import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { LocalStage } from '../../scripts/stage/local-stage';
import { pagesOf } from '../overhead/memory';
import { round } from '../overhead/figures';

const POLL_MS = 100;
/** So long nothing may have moved before the worker counts as idle. */
const QUIET_MS = 1_000;
/** Rest before memory is read: garbage is collected when a process has nothing to do. */
const REST_MS = 5_000;

const cacheStateSchema = z.object({
  capacity: z.int(),
  cached: z.int(),
  loaded: z.int(),
  evicted: z.int(),
  busy: z.int(),
});

/** The worker's workflow cache: how many it may hold, holds, ever loaded (new or replayed), and gave up. */
export type CacheState = z.infer<typeof cacheStateSchema>;

/** What a worker at rest holds, MB, with this many tasks open. */
export interface MemoryMark {
  readonly tasks: number;
  readonly own: number;
  readonly pss: number;
  readonly cached: number;
  readonly loaded: number;
  readonly evicted: number;
}

/** The product's orchestrator worker in a process that can be looked at. */
export class Orchestrator {
  private constructor(
    private readonly child: ChildProcess,
    private readonly signal: AbortSignal,
  ) {}

  static async start(stage: LocalStage, signal: AbortSignal): Promise<Orchestrator> {
    const entry = join(__dirname, '..', 'orchestrator-worker.js');
    const child = fork(entry, [], { env: stage.env, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    stage.children.add(child);
    const orchestrator = new Orchestrator(child, signal);
    await orchestrator.heard();
    return orchestrator;
  }

  /** Asks for the state of the cache. */
  async cache(): Promise<CacheState> {
    this.signal.throwIfAborted();
    const heard = this.heard();
    this.child.send('cache');
    return heard;
  }

  /** Waits until the worker has nothing to do any more. */
  async idle(): Promise<CacheState> {
    let last = await this.cache();
    for (let quietMs = 0; quietMs < QUIET_MS; quietMs += POLL_MS) {
      await sleep(POLL_MS);
      const state = await this.cache();
      const isQuiet = state.busy === 0 && state.loaded === last.loaded && state.evicted === last.evicted;
      if (!isQuiet) quietMs = 0;
      last = state;
    }
    return last;
  }

  /** Reads the memory after a rest; undefined where there is no /proc. */
  async mark(tasks: number): Promise<MemoryMark | undefined> {
    if (process.platform !== 'linux') return undefined;
    const { cached, loaded, evicted } = await this.idle();
    await sleep(REST_MS, undefined, { signal: this.signal });
    const { own, pss } = await pagesOf(this.child.pid ?? 0);
    return { tasks, own: round(own), pss: round(pss), cached, loaded, evicted };
  }

  private async heard(): Promise<CacheState> {
    const listening = new AbortController();
    const message = once(this.child, 'message', { signal: listening.signal });
    const ended = once(this.child, 'exit', { signal: listening.signal }).then((): never => {
      throw new Error('the orchestrator worker ended');
    });
    try {
      const [state] = (await Promise.race([message, ended])) as [unknown];
      return cacheStateSchema.parse(state);
    } finally {
      message.catch(() => undefined);
      ended.catch(() => undefined);
      listening.abort();
    }
  }
}
