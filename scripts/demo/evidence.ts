import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { processIdentitySchema } from '../../cli/up/process-identity';

const runnerSchema = z.object({ runner: processIdentitySchema, provider: processIdentitySchema });
export type Executor = z.infer<typeof runnerSchema>;

/** What the run directory of one attempt says; every look reads the files anew. */
export class RunEvidence {
  constructor(readonly directory: string) {}

  /** Runner and provider as the runner recorded them. */
  async executor(): Promise<Executor> {
    return runnerSchema.parse(JSON.parse(await this.text('runner.json')));
  }

  /** Lines of the ledger: the runner writes one before each process that it starts. */
  async spawns(): Promise<number> {
    return (await this.lines('spawns.jsonl')).length;
  }

  /** The provider's events so far, one JSON object a line. */
  events(): Promise<string[]> {
    return this.lines('stdout.jsonl');
  }

  private async lines(name: string): Promise<string[]> {
    return (await this.text(name)).split('\n').filter((line) => line !== '');
  }

  private text(name: string): Promise<string> {
    return readFile(join(this.directory, name), 'utf8').catch(() => '');
  }
}

/** Repeats a look until it finds something; `signal` bounds it. */
export async function until<T>(look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    await sleep(20);
  }
}
