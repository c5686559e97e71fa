import { runBare, type BareRun } from './bare';
import { summary, type Summary } from './figures';
import { stampOf } from './stub';
import type { Dispatched, Tasks } from './tasks';

export const SAMPLES = 40;
const WARM_UP = 3;

export interface Latency {
  /** From acceptance to the first instruction, milliseconds. */
  readonly perdure: Summary;
  readonly bare: Summary;
  readonly ratio: number;
  /** The same from the moment before the request was sent. */
  readonly fromRequest: { readonly perdure: Summary; readonly bare: Summary; readonly ratio: number };
}

/** A settled dispatch with the moment of its provider's first instruction. */
export interface Sample extends Dispatched {
  readonly stampedAt: number;
}

const ratioOf = (a: Summary, b: Summary): number => Math.round((a.median / b.median) * 100) / 100;

/** Dispatches resting tasks and runs the bare workflow by turns, one at a time. */
export async function measureLatency(
  tasks: Tasks,
  signal: AbortSignal,
): Promise<{ latency: Latency; samples: Sample[] }> {
  const client = await tasks.stage.session.client();
  const ids: string[] = [];
  for (let i = 0; i < SAMPLES + WARM_UP; i += 1) ids.push(await tasks.create());
  const samples: Sample[] = [];
  const bares: BareRun[] = [];
  for (const taskId of ids) {
    const dispatched = await tasks.dispatch(taskId);
    const stampedAt = await stampOf(tasks.directoryOf(dispatched), signal);
    await tasks.complete(taskId, await tasks.settled(dispatched));
    samples.push({ ...dispatched, stampedAt });
    bares.push(await runBare(client));
  }
  return { latency: latencyOf(samples.slice(WARM_UP), bares.slice(WARM_UP)), samples: samples.slice(WARM_UP) };
}

function latencyOf(samples: readonly Sample[], bares: readonly BareRun[]): Latency {
  const perdure = summary(samples.map(({ stampedAt, acceptedAt }) => stampedAt - acceptedAt));
  const bare = summary(bares.map(({ fromAccepted }) => fromAccepted));
  const asked = {
    perdure: summary(samples.map(({ stampedAt, requestedAt }) => stampedAt - requestedAt)),
    bare: summary(bares.map(({ fromRequest }) => fromRequest)),
  };
  const fromRequest = { ...asked, ratio: ratioOf(asked.perdure, asked.bare) };
  return { perdure, bare, ratio: ratioOf(perdure, bare), fromRequest };
}
