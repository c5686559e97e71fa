import { summary } from '../../../bench/overhead/figures';
import { judge, type Fault, type Rest } from './judgement';
import { POINTS, RANDOM } from './points';
import type { StrikeResult } from './strike';

/** Figures of the kills of one point, or of one target. */
export interface Row {
  readonly name: string;
  readonly provider: string;
  /** Moments at which something was killed with SIGKILL. */
  readonly kills: number;
  /** Tasks that did not come to their point; nothing was killed then. */
  readonly missed: number;
  /** Provider starts, counted by the provider. */
  readonly spawns: number;
  readonly second: number;
  readonly lost: number;
  readonly stuck: number;
  /** Seconds from a kill until the record told an outcome or `recovery_required`. */
  readonly recovery: { readonly median: number; readonly worst: number } | null;
  /** What the record said first after the kill, and how often. */
  readonly said: Record<string, number>;
}

/** One row for each point and provider, in the order of the points. */
export function byPoint(results: readonly StrikeResult[]): Row[] {
  const names = [...POINTS.map(({ name }) => name), RANDOM];
  return names.flatMap((name) =>
    ['stub', 'codex'].flatMap((provider) =>
      row(
        name,
        results.filter((result) => (result.point?.name ?? RANDOM) === name && result.provider === provider),
      ),
    ),
  );
}

/** One row for each target and provider. */
export function byTarget(results: readonly StrikeResult[]): Row[] {
  const names = [...new Set(results.map(killedOf))].sort();
  return names.flatMap((name) =>
    ['stub', 'codex'].flatMap((provider) =>
      row(
        name,
        results.filter((result) => killedOf(result) === name && result.provider === provider),
      ),
    ),
  );
}

/** What was killed first, not what was to be: at a moment of chance it may not have been there. */
const killedOf = ({ struck, target }: StrikeResult): string => struck[0] ?? target;

/** All kills as one row. */
export const inAll = (results: readonly StrikeResult[]): Row[] =>
  row('in all', results).map((all) => ({ ...all, provider: 'both' }));

function row(name: string, results: readonly StrikeResult[]): Row[] {
  const [first] = results;
  if (first === undefined) return [];
  const faults = results.flatMap(({ seen }) => judge(seen));
  const faultsOf = (kind: Fault['kind']) => faults.filter((fault) => fault.kind === kind).length;
  const hit = results.flatMap(({ seen, struck }) => seen.rests.slice(0, struck.length));
  const seconds = hit.flatMap((rest) => (rest === null ? [] : [rest.tookMs / 1_000]));
  const { median, max } = summary(seconds);
  const sum = (pick: (result: StrikeResult) => number) => results.reduce((total, result) => total + pick(result), 0);
  return [
    {
      name,
      provider: first.provider,
      kills: sum(({ struck }) => struck.length),
      missed: results.filter(({ struck }) => struck.length === 0).length,
      spawns: sum(({ seen }) => seen.starts.length),
      second: faultsOf('second'),
      lost: faultsOf('lost'),
      stuck: faultsOf('stuck'),
      recovery: seconds.length === 0 ? null : { median: round(median), worst: round(max) },
      said: tally(hit.map(wordOf)),
    },
  ];
}

const round = (seconds: number): number => Math.round(seconds * 100) / 100;

function wordOf(rest: Rest | null): string {
  if (rest === null) return 'nothing';
  if (rest.attention === 'recovery') return 'recovery_required';
  return rest.code === null ? rest.status : `${rest.status} (${rest.code})`;
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of [...words].sort()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

const HEAD = [
  '',
  'provider',
  'kills',
  'missed',
  'spawns',
  'second',
  'lost',
  'stuck',
  'median s',
  'worst s',
  'the record said',
];

/** Rows as a table of Markdown, which a terminal shows as well. */
export function lines(rows: readonly Row[], first: string): string[] {
  const cells = rows.map(({ name, provider, recovery, said, ...counts }) => [
    name,
    provider,
    ...['kills', 'missed', 'spawns', 'second', 'lost', 'stuck'].map((key) => String(counts[key as 'kills'])),
    recovery === null ? '' : recovery.median.toFixed(2),
    recovery === null ? '' : recovery.worst.toFixed(2),
    Object.entries(said)
      .map(([word, n]) => `${word} ${n}`)
      .join(', '),
  ]);
  const table = [[first, ...HEAD.slice(1)], ...cells];
  const widths = HEAD.map((_, column) => Math.max(3, ...table.map((line) => line[column]?.length ?? 0)));
  const isNumber = (column: number) => column >= 2 && column <= 9;
  const line = (line: readonly string[]) =>
    `| ${line.map((cell, n) => (isNumber(n) ? cell.padStart(widths[n] ?? 0) : cell.padEnd(widths[n] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, n) => (isNumber(n) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))).join(' | ')} |`;
  return [line(table[0] ?? []), rule, ...table.slice(1).map(line)];
}
