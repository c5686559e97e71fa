import type { Summary } from '../overhead/figures';
import type { LifecycleFigures } from './lifecycle';
import type { MemoryMark } from './orchestrator';

type Row = readonly [figure: string, ratio: string, small: string, large: string];

const text = (value: number, unit = ''): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
};
const times = (value: number): string => `${text(value)}x`;

/** The figures as a table for people: ratios first. */
export function tableOf(figures: LifecycleFigures): string[] {
  const { small, large } = figures.reading;
  const rows: Row[] = [
    ['figure', 'ratio', `at ${String(small.tasks)} tasks`, `at ${String(large.tasks)} tasks`],
    ...createRows(figures),
    ...readingRows(figures),
    ...memoryRows(figures),
    ...updateRows(figures),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: Row): string => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return [...rows.map((row) => line(row).trimEnd()), '', ...markLines(figures)];
}

function createRows({ create: { small, large } }: LifecycleFigures): Row[] {
  return [
    ['bare starts that one task takes, large against small', times(large.ratio / small.ratio), times(small.ratio), times(large.ratio)], // prettier-ignore
    ['  tasks created a second', times(large.perSecond / small.perSecond), text(small.perSecond), text(large.perSecond)], // prettier-ignore
    ['  bare workflows started a second', '', text(small.barePerSecond), text(large.barePerSecond)],
    ['  looks of the client at the repository a second, alone', '', text(small.looksPerSecond), text(large.looksPerSecond)], // prettier-ignore
  ];
}

function readingRows({ reading: { small, large } }: LifecycleFigures): Row[] {
  const row = (name: string, a: Summary | null, b: Summary | null): Row => {
    if (a === null || b === null) return [name, '', 'the cache holds all', ''];
    const both = `${times(b.median / a.median)}, p95 ${times(b.p95 / a.p95)}`;
    return [name, both, latency(a), latency(b)];
  };
  return [
    row('list of 100', small.list, large.list),
    row('list of 100 of a status that all have', small.listPending, large.listPending),
    row('list of a status that none has', small.listFailed, large.listFailed),
    row('show of a task in the cache', small.showWarm, large.showWarm),
    row('show of one that was evicted', small.showCold, large.showCold),
    ['  workflows loaded for each', '', text(small.loads.cold), text(large.loads.cold)],
    ['  show of the task with all the updates (once)', '', text(small.showUpdated, ' ms'), text(large.showUpdated, ' ms')], // prettier-ignore
  ];
}

const latency = ({ median, p95 }: Summary): string => `${text(median, ' ms')} (p95 ${text(p95, ' ms')})`;

function memoryRows({ memory, reading }: LifecycleFigures): Row[] {
  const at = (tasks: number): MemoryMark | undefined => memory.findLast((mark) => mark.tasks === tasks);
  const [small, large] = [at(reading.small.tasks), at(reading.large.tasks)];
  if (small === undefined || large === undefined)
    return [['memory of the worker', '', 'not measured on this system', '']];
  const row = (name: string, of: (mark: MemoryMark) => number): Row => [
    name,
    times(of(large) / of(small)),
    text(of(small), ' MB'),
    text(of(large), ' MB'),
  ];
  return [row('memory of the worker, private', ({ own }) => own), row('  its PSS', ({ pss }) => pss)];
}

function updateRows({ updates }: LifecycleFigures): Row[] {
  const { early, late, ratio, all } = updates;
  return [
    ['', '', '', ''],
    ['one update of one task', 'ratio', `the ${String(early.number)}th`, `the ${String(late.number)}th`],
    ['median of the 20 around it', times(ratio), latency(early.ms), latency(late.ms)],
    ['  history events of each', times(late.events / early.events), text(early.events), text(late.events)],
    ['  of all: events, median', '', text(updates.events), latency(all)],
    [`  slowest; ${String(updates.rollovers)} times it went on as a new run`, times(all.max / all.median), text(all.max, ' ms'), ''], // prettier-ignore
    ['  medians of the tenths of its life', '', updates.tenths.map((ms) => text(ms)).join(' '), ''],
  ];
}

function markLines({ memory, cacheCapacity }: LifecycleFigures): string[] {
  if (memory.length === 0) return [];
  return [
    `The worker at rest; its cache holds up to ${String(cacheCapacity)} workflows (loaded: new or replayed):`,
    ...memory.map(
      ({ tasks, own, pss, cached, loaded, evicted }) =>
        `${String(tasks).padStart(8)} tasks  ${text(own).padStart(6)} MB private  ${text(pss).padStart(6)} MB PSS` +
        `  ${String(cached).padStart(4)} cached  ${String(loaded).padStart(6)} loaded  ${String(evicted).padStart(6)} evicted`,
    ),
  ];
}
