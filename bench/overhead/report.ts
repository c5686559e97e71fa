import type { OverheadFigures } from './overhead';
import type { Summary } from './figures';
import type { ChainCost } from './cost';
import { pathLines } from './path-table';

type Row = readonly [figure: string, first: string, goal: string, measured: string];

const text = (value: number, unit = ''): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
};
const median = ({ median: middle, p95, n }: Summary, unit: string): string =>
  `${text(middle, unit)} (p95 ${text(p95, unit)}, n ${String(n)})`;
const worst = ({ median: middle, max, n }: Summary): string =>
  `${text(middle, ' s')} (worst ${text(max, ' s')}, n ${String(n)})`;

/** The figures as a table for people: what the design asks for first, its goal, and what was measured. */
export function tableOf(figures: OverheadFigures): string[] {
  const rows: Row[] = [
    ['figure', 'first', 'goal', 'measured'],
    ...latencyRows(figures),
    ...costRows(figures),
    ...throughputRows(figures),
    ...recoveryRows(figures),
    ...memoryRows(figures),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const { createDispatchComplete, run } = figures.happy;
  return [
    ...lines,
    '',
    'Where the time from the request to the first instruction goes (medians, ms):',
    ...Object.entries(figures.profile).map(([step, ms]) => `${text(ms).padStart(8)}  ${step}`),
    '',
    'A happy task, phase by phase:',
    ...phaseLines('create, dispatch, complete', createDispatchComplete),
    ...phaseLines('run', run),
    '',
    ...pathLines(figures.paths),
  ];
}

function latencyRows({ latency }: OverheadFigures): Row[] {
  const { perdure, bare, ratio, fromRequest } = latency;
  return [
    ['dispatch accepted to first instruction, against bare', '3x', '1.5x', `${text(ratio)}x`],
    ['  ours', '', '', median(perdure, ' ms')],
    ['  bare workflow, one activity', '', '', median(bare, ' ms')],
    ['request to first instruction, against bare', '', '', `${text(fromRequest.ratio)}x`],
    ['  ours', '', '', median(fromRequest.perdure, ' ms')],
    ['  bare', '', '', median(fromRequest.bare, ' ms')],
  ];
}

function costRows({ happy }: OverheadFigures): Row[] {
  const { createDispatchComplete: long, run } = happy;
  const both = (pick: (task: ChainCost) => number): string => `${String(pick(long))}, in one step ${String(pick(run))}`;
  return [
    ['history events of a happy task', '40', '30', both(({ events }) => events)],
    ['history bytes of a happy task', '', '', both(({ bytes }) => bytes)],
    ['billable actions of a happy task', '20', '12', both(({ actions }) => actions)],
  ];
}

function throughputRows({ throughput }: OverheadFigures): Row[] {
  const { inFlight, perdure, bare, ratio } = throughput;
  const beside = `${text(perdure)}, bare ${text(bare)} (${text(ratio)}x)`;
  return [[`tasks a second, ${String(inFlight)} in flight`, '', '', beside]];
}

function recoveryRows({ recovery }: OverheadFigures): Row[] {
  return [
    ['worker SIGKILL, new process, followed again', '10 s', '5 s', worst(recovery.killAndRestart)],
    ['worker SIGKILL beside a second worker', '10 s', '5 s', worst(recovery.killWithSecond)],
    ['graceful end beside a second worker (rolling)', '1 s', '0.5 s', worst(recovery.gracefulWithSecond)],
    ['graceful end, new process, followed again', '', '', worst(recovery.gracefulRestart)],
    ['  start of a worker process in it', '', '', worst(recovery.workerStart)],
  ];
}

function memoryRows({ memory }: OverheadFigures): Row[] {
  if (memory === null) return [['own memory of a running attempt', '45 MB', '10 MB', 'not measured on this system']];
  const { runnerRss, runnerPss, runnerPrivate, workerGrowth, processes } = memory;
  return [
    ['own memory of a running attempt (PSS of the runner)', '45 MB', '10 MB', median(runnerPss, ' MB')],
    ['  resident', '', '', median(runnerRss, ' MB')],
    ['  private', '', '', median(runnerPrivate, ' MB')],
    ['  growth of the worker', '', '', text(workerGrowth, ' MB')],
    ['processes of a running attempt', '', '', text(processes)],
  ];
}

function phaseLines(name: string, { phases, kinds }: ChainCost): string[] {
  const billed = Object.entries(kinds).map(([kind, count]) => `${kind} ${String(count)}`);
  return [
    `  ${name}`,
    ...phases.map(
      ({ type, events, bytes, actions }) =>
        `    ${type.padEnd(13)} ${String(events).padStart(3)} events ${String(bytes).padStart(6)} bytes ${String(actions).padStart(2)} actions`,
    ),
    `    actions: ${billed.join(', ')}`,
  ];
}
