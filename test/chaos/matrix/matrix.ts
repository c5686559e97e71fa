import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findCodex } from '../../../activities/provider/codex-binary';
import { startScriptedEndpoint } from '../../../scripts/scripted-endpoint';
import { Random } from '../../helpers/random';
import { replayAll } from '../../helpers/replay';
import { SCRIPTED_KEY } from '../../helpers/scripted-endpoint';
import { Lane, type RealCodex, type Target } from './lane';
import { ALL_TARGETS, POINTS, RANDOM, type Point } from './points';
import { Strike, type StrikeOrder, type StrikeResult } from './strike';

/** Every this-manyth kill is at a moment of chance, and every that-manyth of the real Codex. */
const RANDOM_EVERY = 4;
const CODEX_EVERY = 4;
/** How often a moment is tried that passes too soon. */
const TRIES = 4;

export interface MatrixOptions {
  readonly kills: number;
  readonly seed: number;
  /** Only this point. */
  readonly point?: string | undefined;
  /** Machines at once. */
  readonly lanes: { readonly stub: number; readonly codex: number };
  readonly note: (result: StrikeResult) => void;
}

export interface MatrixOutcome {
  readonly results: StrikeResult[];
  /** Histories that were replayed, by workflow type. */
  readonly replayed: Record<string, number>;
}

/** Kills as often as asked for in an open workshop's folder, spread over all points and targets, and replays every history that came of it. */
export async function runMatrix(folder: string, options: MatrixOptions): Promise<MatrixOutcome> {
  const codexHome = join(folder, 'codex');
  mkdirSync(codexHome);
  const endpoint = await startScriptedEndpoint(codexHome);
  try {
    const codex: RealCodex = {
      binary: findCodex(process.env),
      env: { CODEX_HOME: codexHome, ...SCRIPTED_KEY },
    };
    const results: StrikeResult[] = [];
    const replayed: Record<string, number> = {};
    await Promise.all(
      queuesOf(options).map(async ({ orders, codex: isCodex, random }, index) => {
        if (orders.length === 0) return;
        const lane = await Lane.open(join(folder, `lane-${index}`), isCodex ? codex : undefined);
        await work(lane, orders, { random, options, results });
        for (const [type, n] of Object.entries(await replayAll(lane.server.client))) {
          replayed[type] = (replayed[type] ?? 0) + n;
        }
        await lane.close();
      }),
    );
    return { results, replayed };
  } finally {
    await endpoint.close();
  }
}

interface Work {
  readonly random: Random;
  readonly options: MatrixOptions;
  readonly results: StrikeResult[];
}

/** Takes orders until none is left; lanes of one provider share a list. */
async function work(lane: Lane, orders: StrikeOrder[], { random, options, results }: Work): Promise<void> {
  for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
    // On a busy machine a moment may have passed before it could be struck: then it is tried again.
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const result = await new Strike(lane, order, random).run();
      results.push(result);
      options.note(result);
      if (result.struck.length > 0) break;
    }
  }
}

function queuesOf({ kills, seed, point, lanes }: MatrixOptions) {
  const random = new Random(seed);
  const codexKills = lanes.codex === 0 ? 0 : Math.floor(kills / CODEX_EVERY);
  const stub = ordersOf(kills - codexKills, { random, point, isCodex: false });
  const codex = ordersOf(codexKills, { random, point, isCodex: true });
  const queue = (orders: StrikeOrder[], isCodex: boolean, n: number) => ({
    orders,
    codex: isCodex,
    random: new Random(seed + n + 1),
  });
  return [
    ...Array.from({ length: lanes.stub }, (_, n) => queue(stub, false, n)),
    ...Array.from({ length: lanes.codex }, (_, n) => queue(codex, true, 100 + n)),
  ];
}

interface Choice {
  readonly random: Random;
  readonly point: string | undefined;
  readonly isCodex: boolean;
}

/**
 * Orders for so many kills, moments of chance between them: every point once before any comes twice, and every pair of
 * point and target once before any of those does.
 */
export function ordersOf(count: number, { random, point: only, isCodex }: Choice): StrikeOrder[] {
  const points = POINTS.filter(({ name, isStubOnly }) => (only ?? name) === name && !(isCodex && isStubOnly === true));
  let left: Pair[] = [];
  return Array.from({ length: count }, (_, index) => {
    const kills = index % 2 === 0 ? 1 : 2;
    const isRandom = only === RANDOM || (only === undefined && index % RANDOM_EVERY === RANDOM_EVERY - 1);
    if (isRandom) return { point: null, target: random.pick(ALL_TARGETS), kills };
    if (left.length === 0) left = pairsOf(points, random);
    const pair = left.shift();
    return { point: pair?.point ?? POINTS[0], target: pair?.target ?? 'host', kills };
  });
}

interface Pair {
  readonly point: Point;
  readonly target: Target;
}

/** Every pair of point and target; all points with one target of theirs each, then with another, and so on. */
function pairsOf(points: readonly Point[], random: Random): Pair[] {
  const dealt = points.map((point) => shuffled(point.targets, random).map((target) => ({ point, target })));
  const passes = Math.max(0, ...dealt.map(({ length }) => length));
  return Array.from({ length: passes }, (_, pass) =>
    shuffled(
      dealt.flatMap((pairs) => pairs[pass] ?? []),
      random,
    ),
  ).flat();
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((value) => ({ value, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
