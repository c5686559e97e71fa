import { cpus } from 'node:os';
import { join } from 'node:path';
import { makeRepository } from '../../scripts/demo/repository';
import { LocalStage } from '../../scripts/stage/local-stage';
import type { BenchOptions } from '../main';
import { startBareWorker } from '../overhead/bare';
import { measureCreation, type CreateRate } from './create';
import { Orchestrator, type MemoryMark } from './orchestrator';
import { Population } from './population';
import { measureReading, type Reading } from './reading';
import { tableOf } from './report';
import { measureUpdates, type Updates } from './updates';

const TASKS = 10_000;
/** The smaller size is this part of the larger one, which is reached in steps of it. */
const STEPS = 10;

/** A figure at both sizes. */
export interface AtBoth<T> {
  readonly small: T;
  readonly large: T;
}

export interface LifecycleFigures {
  readonly machine: { readonly cpus: number; readonly node: string; readonly platform: string };
  readonly cacheCapacity: number;
  readonly updates: Updates;
  readonly create: AtBoth<CreateRate>;
  readonly reading: AtBoth<Reading>;
  /** The worker fresh, then after the updates of one task, then after each step of growth; empty without /proc. */
  readonly memory: MemoryMark[];
}

/** `npm run bench -- lifecycle`: what thousands of open tasks cost, and whether it grows with them. */
export async function lifecycle({ isJson, signal, tasks = TASKS }: BenchOptions): Promise<void> {
  const stage = await LocalStage.open({ name: 'perdure-bench', signal });
  try {
    const figures = await (await Lifecycle.begin(stage, signal)).measure(tasks);
    const text = isJson ? JSON.stringify({ success: true, ...figures }) : tableOf(figures).join('\n');
    process.stdout.write(`${text}\n`);
  } finally {
    const left = await stage.close();
    if (left.length > 0) process.stderr.write(`bench: ended ${String(left.length)} processes that were left\n`);
  }
}

class Lifecycle {
  private readonly memory: MemoryMark[] = [];
  private readonly repository: string;
  private readonly tasks: Population;

  private constructor(
    stage: LocalStage,
    private readonly orchestrator: Orchestrator,
    private readonly signal: AbortSignal,
  ) {
    this.repository = makeRepository(join(stage.root, 'repository'));
    this.tasks = new Population(stage.session, this.repository, signal);
  }

  static async begin(stage: LocalStage, signal: AbortSignal): Promise<Lifecycle> {
    process.stderr.write('bench: starting a server and workers ...\n');
    const orchestrator = await Orchestrator.start(stage, signal);
    await startBareWorker(stage);
    return new Lifecycle(stage, orchestrator, signal);
  }

  async measure(size: number): Promise<LifecycleFigures> {
    const { tasks, orchestrator } = this;
    const step = Math.floor(size / STEPS);
    await this.mark();
    const updates = await this.update(Math.floor(size / 2));
    const small = await this.grow(step);
    const smallReading = await this.read(updates.taskId);
    while (tasks.size < step * (STEPS - 1)) {
      this.say(`creating tasks up to ${String(tasks.size + step)}`);
      await tasks.growTo(tasks.size + step);
      await this.mark();
    }
    const large = await this.grow(step);
    const largeReading = await this.read(updates.taskId);
    return {
      machine: { cpus: cpus().length, node: process.version, platform: `${process.platform}-${process.arch}` },
      cacheCapacity: (await orchestrator.cache()).capacity,
      create: { small, large },
      reading: { small: smallReading, large: largeReading },
      updates,
      memory: this.memory,
    };
  }

  private async update(count: number): Promise<Updates> {
    this.say(`${String(count)} updates of one task`);
    const updates = this.told(await measureUpdates(this.tasks, count));
    await this.mark();
    return updates;
  }

  private async grow(count: number): Promise<CreateRate> {
    this.say(`creating tasks up to ${String(this.tasks.size + count)}, beside the bare workflow`);
    const rate = this.told(await measureCreation(this.tasks, count, this.repository));
    await this.mark();
    return rate;
  }

  private async read(updatedTask: string): Promise<Reading> {
    this.say(`listing and showing ${String(this.tasks.size)} tasks`);
    return this.told(await measureReading(this.tasks, this.orchestrator, updatedTask));
  }

  private async mark(): Promise<void> {
    const mark = await this.orchestrator.mark(this.tasks.size);
    if (mark !== undefined) this.memory.push(this.told(mark));
  }

  /** A long run that is ended must not take what it has measured along. */
  private told<T>(figures: T): T {
    process.stderr.write(`bench:   ${JSON.stringify(figures)}\n`);
    return figures;
  }

  private say(text: string): void {
    this.signal.throwIfAborted();
    process.stderr.write(`bench: ${text} ...\n`);
  }
}
