import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { quantile, round } from './figures';
import { historiesOf } from './history';
import type { Sample } from './latency';
import type { Tasks } from './tasks';

type Timestamp = temporal.api.history.v1.IHistoryEvent['eventTime'];

/** Steps from the request of a dispatch to the provider's first instruction, with their median in milliseconds. */
export type Profile = Record<string, number>;

const STEPS = [
  'request to accepted (described, validated, updated, phase changed)',
  'accepted to first workflow task started',
  'workflow task: replayed nothing, ordered the activity',
  'activity ordered to started by the host worker',
  'activity started to run directory made',
  'workspace made and request written, the runner starts up meanwhile',
  'rest of the start, attempt claimed',
  'claim and ledger flushed, spawn begun',
  'spawn to first instruction',
] as const;

const millis = (time: Timestamp): number => Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;

/** Takes a dispatch apart by the server's event times and the times of the run directory's files. */
async function stepsOf(tasks: Tasks, sample: Sample): Promise<number[]> {
  const run = (await historiesOf(tasks, sample.taskId)).find(({ type }) => type === 'dispatchTask');
  if (run === undefined) throw new Error('a dispatched task has no run of its dispatch');
  const timeOf = (has: 'workflowTaskStarted' | 'activityTaskScheduled' | 'activityTaskStarted'): number =>
    millis(run.events.find((event) => event[`${has}EventAttributes`])?.eventTime);
  const directory = tasks.directoryOf(sample);
  const file = (name: string) => stat(join(directory, name));
  const [begun, request, claim, ledger] = await Promise.all([
    stat(directory).then(({ birthtimeMs }) => birthtimeMs),
    file('request.json').then(({ mtimeMs }) => mtimeMs),
    file('claim').then(({ mtimeMs }) => mtimeMs),
    file('spawns.jsonl').then(({ mtimeMs }) => mtimeMs),
  ]);
  const moments = [
    sample.requestedAt,
    sample.acceptedAt,
    timeOf('workflowTaskStarted'),
    timeOf('activityTaskScheduled'),
    timeOf('activityTaskStarted'),
    begun,
    request,
    claim,
    ledger,
    sample.stampedAt,
  ];
  return moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
}

/** The median of each step; a step can be negative where the client heard of an acceptance later than the server went on. */
export async function profileOf(tasks: Tasks, samples: readonly Sample[]): Promise<Profile> {
  const all: number[][] = [];
  for (const sample of samples) all.push(await stepsOf(tasks, sample));
  const medians = STEPS.map((step, index) => [
    step,
    round(
      quantile(
        all.map((steps) => steps[index] ?? 0),
        0.5,
      ),
    ),
  ]);
  return Object.fromEntries(medians) as Profile;
}
