import { quantile, round, summary, type Summary } from '../overhead/figures';
import { historiesOf } from '../overhead/history';
import type { Population } from './population';
import { timed } from './reading';

const EARLY = 10;
/** Updates on both sides of the one that is looked at. */
const AROUND = 10;
const WARM_UP = 100;
const PARTS = 10;

/** Updates around one of a task's life. */
export interface UpdateCost {
  /** Number of the update in the middle, from 1. */
  readonly number: number;
  readonly ms: Summary;
  /** History events of one update. */
  readonly events: number;
}

export interface Updates {
  readonly early: UpdateCost;
  readonly late: UpdateCost;
  readonly ratio: number;
  readonly all: Summary;
  /** Medians of each tenth of the life, milliseconds. */
  readonly tenths: number[];
  /** How often the task went on as a new run. */
  readonly rollovers: number;
  /** History events of one update over the whole life, roll-overs among them. */
  readonly events: number;
  readonly taskId: string;
}

/** Adds notes to one task, one after the other, through the product's client. */
export async function measureUpdates(tasks: Population, count: number): Promise<Updates> {
  const other = await tasks.create();
  for (let i = 0; i < WARM_UP; i += 1) await tasks.note(other, 'a note that warms the worker up');
  const taskId = await tasks.create();
  const times: number[] = [];
  for (let i = 1; i <= count + AROUND; i += 1) {
    times.push(await timed(() => tasks.note(taskId, `note ${String(i)} of the bench`)));
  }
  const runs = (await historiesOf(tasks, taskId)).reverse();
  const accepted = runs
    .flatMap(({ events }) => events)
    .flatMap((event, position) => (event.workflowExecutionUpdateAcceptedEventAttributes ? [position] : []));
  const costAt = (number: number): UpdateCost => {
    const [from, to] = [number - AROUND, number + AROUND];
    return { number, ms: summary(times.slice(from, to)), events: eventsEach(accepted.slice(from, to)) };
  };
  const [early, late] = [costAt(EARLY), costAt(count)];
  return {
    early,
    late,
    ratio: round(late.ms.median / early.ms.median),
    all: summary(times),
    tenths: tenthsOf(times),
    rollovers: runs.length - 1,
    events: eventsEach(accepted),
    taskId,
  };
}

/** Events from one accepted update to the next, on average. */
function eventsEach(positions: readonly number[]): number {
  return round(((positions.at(-1) ?? 0) - (positions[0] ?? 0)) / Math.max(positions.length - 1, 1));
}

function tenthsOf(times: readonly number[]): number[] {
  const length = Math.ceil(times.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) =>
    round(quantile(times.slice(part * length, (part + 1) * length), 0.5)),
  );
}
