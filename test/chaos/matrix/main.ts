// npm run crash-matrix [-- --kills N] [--json] [--seed S] [--point NAME]: kills everything everywhere and counts.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { BOUND_MS, judge } from './judgement';
import { runMatrix } from './matrix';
import { POINTS, RANDOM } from './points';
import type { StrikeResult } from './strike';
import { byPoint, byTarget, inAll, lines } from './table';
import { openWorkshop } from './workshop';

const LANES = { stub: 3, codex: 2 };
const NAMES = [...POINTS.map(({ name }) => name), RANDOM];

/** Kills that a run without `--kills` comes to: each pair of point and target about once. */
const KILLS = 120;

interface Asked {
  readonly kills: number;
  readonly seed: number;
  readonly isJson: boolean;
  readonly point: string | undefined;
}

function asked(argv: string[]): Asked | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: argv,
    options: { kills: text, seed: text, point: text, json: { type: 'boolean', default: false } },
  });
  const kills = Number(values.kills ?? KILLS);
  const seed = Number(values.seed ?? 1);
  if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) return undefined;
  if (values.point !== undefined && !NAMES.includes(values.point)) return undefined;
  return { kills, seed, isJson: values.json, point: values.point };
}

/** One line for each kill, on standard error. */
function note(result: StrikeResult): void {
  const { point, target, provider, seen, struck } = result;
  const rests = seen.rests.map((rest) =>
    rest === null
      ? 'stuck'
      : `${rest.attention === 'recovery' ? 'recovery' : rest.status} ${(rest.tookMs / 1_000).toFixed(1)}s`,
  );
  const faults = judge(seen).map(({ kind, text }) => ` ${kind.toUpperCase()}: ${text}`);
  process.stderr.write(
    `${point?.name ?? RANDOM}/${struck.join('+') || `no ${target}`} (${provider}): ${rests.join(', ')}${faults.join('')}\n`,
  );
}

async function main(argv: string[]): Promise<number> {
  const wish = asked(argv);
  if (wish === undefined) {
    const usage = 'usage: npm run crash-matrix [-- --kills N] [--json] [--seed S] [--point NAME]';
    process.stderr.write(`${usage}\n  NAME is one of ${NAMES.join(', ')}\n`);
    return 2;
  }
  const began = Date.now();
  const { results, replayed } = await inWorkshop((folder) => runMatrix(folder, { ...wish, lanes: LANES, note }));
  const faults = results.flatMap(({ seen, point, target }) =>
    judge(seen).map((fault) => ({ point: point?.name ?? RANDOM, target, ...fault })),
  );
  const figures = {
    success: faults.length === 0,
    seed: wish.seed,
    seconds: Math.round((Date.now() - began) / 1_000),
    boundSeconds: BOUND_MS / 1_000,
    machine: { cpus: cpus().length, model: cpus()[0]?.model, node: process.version },
    all: inAll(results),
    points: byPoint(results),
    targets: byTarget(results),
    faults,
    replayed,
  };
  const table = [
    ...lines([...figures.points, ...figures.all], 'point'),
    '',
    ...lines([...figures.targets], 'killed'),
    '',
    ...faults.map(({ point, target, kind, text }) => `${point}/${target}: ${kind}: ${text}`),
    `${figures.seconds} s, bound ${figures.boundSeconds} s, seed ${figures.seed}; replayed ${JSON.stringify(replayed)}`,
  ];
  process.stdout.write(wish.isJson ? `${JSON.stringify(figures)}\n` : `${table.join('\n')}\n`);
  return figures.success ? 0 : 1;
}

/** Works in a workshop that is cleared away in any case, and at once when the person has enough. */
async function inWorkshop<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const workshop = openWorkshop();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void workshop.close().then(() => process.exit(130)));
  }
  try {
    return await work(workshop.folder);
  } finally {
    await workshop.close();
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`crash-matrix: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
