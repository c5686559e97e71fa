import { setTimeout as sleep } from 'node:timers/promises';
import { randomInt } from 'node:crypto';
import { createTask, noteTask, type Session } from '../../client/index';
import { taskHandle } from '../../client/session';
import { listQuery } from '../../client/list';
import type { Outcome } from '../../contract/failures';
import { inFlight, now, round } from '../overhead/figures';

const IN_FLIGHT = 32;
const POLL_MS = 100;

/** The value of an operation that is not refused. */
export function valueOf<T>(outcome: Outcome<T>): { success: true } & T {
  if (!outcome.success) throw new Error(`${outcome.code}: ${outcome.error}`);
  return outcome;
}

/** The open tasks of the bench that nothing happens to, in the order of their creation. */
export class Population {
  private readonly ids: string[] = [];
  /** Tasks with a purpose of their own are open too. */
  private open = 0;

  constructor(
    readonly session: Session,
    private readonly repository: string,
    private readonly signal: AbortSignal,
  ) {}

  get size(): number {
    return this.ids.length;
  }

  /** Creates a task that does not count as one of the population. */
  async create(): Promise<string> {
    this.signal.throwIfAborted();
    const draft = { title: 'a task of the bench', description: 'Do nothing.', workspace: this.repository };
    const { id } = valueOf(await createTask(this.session, draft)).task;
    this.open += 1;
    return id;
  }

  /** Creates tasks until there are so many; answers how many a second. */
  async growTo(size: number): Promise<number> {
    return this.rateOf(Math.max(size - this.size, 0), async () => {
      this.ids.push(await this.create());
    });
  }

  /** How many a second of something get done, 32 at a time. */
  async rateOf(count: number, work: () => Promise<void>): Promise<number> {
    const began = now();
    await inFlight(count, IN_FLIGHT, async () => {
      this.signal.throwIfAborted();
      await work();
    });
    return round((count * 1_000) / (now() - began));
  }

  async note(taskId: string, summary: string): Promise<void> {
    this.signal.throwIfAborted();
    valueOf(await noteTask(this.session, taskId, { summary }));
  }

  handle(taskId: string, runId?: string) {
    return taskHandle(this.session, taskId, runId);
  }

  /** Different tasks by chance, out of all but the newest. */
  sample(count: number, exceptNewest: number): string[] {
    const left = this.ids.slice(0, Math.max(this.size - exceptNewest, 0));
    return Array.from({ length: Math.min(count, left.length) }, () => left.splice(randomInt(left.length), 1)).flat();
  }

  /** Waits until lists know all tasks: they lag behind. */
  async listed(): Promise<void> {
    const client = await this.session.client();
    const query = listQuery(this.session.home.tenantId);
    while ((await client.workflow.count(query)).count < this.open) {
      this.signal.throwIfAborted();
      await sleep(POLL_MS);
    }
  }
}
