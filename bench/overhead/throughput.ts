import { runBare } from './bare';
import { inFlight, now, round } from './figures';
import type { Tasks } from './tasks';

const IN_FLIGHT = 32;
const TASKS = 64;
const BARE = 640;

export interface Throughput {
  readonly inFlight: number;
  /** Tasks a second, from the first request to the last settled result. */
  readonly perdure: number;
  readonly bare: number;
  readonly ratio: number;
}

/** Runs many tasks at once, in one step each, and the bare workflow beside it. */
export async function measureThroughput(tasks: Tasks): Promise<Throughput> {
  const client = await tasks.stage.session.client();
  const bare = await rateOf(BARE, async () => {
    await runBare(client);
  });
  const perdure = await rateOf(TASKS, async () => {
    await tasks.settled(await tasks.run());
  });
  return { inFlight: IN_FLIGHT, perdure, bare, ratio: round(bare / perdure) };
}

async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const began = now();
  await inFlight(count, IN_FLIGHT, work);
  return round((count * 1_000) / (now() - began));
}
