import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { DEFAULT_AGENT } from '../../contract/agent';
import { workersUpgradedSignal } from '../../contract/run';
import type { Random } from '../helpers/random';
import { Shot } from './shot';

type Make = (random: Random) => [kind: string, content: Record<string, unknown>];

const setStatus =
  (...statuses: [string, ...string[]]): Make =>
  (random) => [
    'setStatus',
    { status: random.pick(statuses), result: 'the result', failureReason: 'the reason', summary: 'the summary' },
  ];

/** What clients send, by how often. */
const REQUESTS: [number, Make][] = [
  [6, () => ['addActivity', { summary: 'a note' }]],
  [3, (random) => ['update', { title: `title ${String(random.next())}`, requireReview: random.chance(0.2) }]],
  [8, (random) => ['dispatch', { agentId: DEFAULT_AGENT, completion: random.pick(['caller', 'caller', 'criteria']) }]],
  [1, () => ['dispatch', { agentId: 'nobody' }]],
  [7, setStatus('completed', 'completed', 'failed', 'interrupted')],
  [2, setStatus('pending', 'in_progress', 'review', 'cancelled')],
  [3, (random) => ['reopen', { replaceThread: random.chance(0.5) }]],
  [2, () => ['stop', {}]],
  [3, (random) => ['decide', { decision: random.pick(['accept', 'abandon', 'approve', 'send_back']) }]],
];
const TOTAL = REQUESTS.reduce((sum, [weight]) => sum + weight, 0);

function anyRequest(random: Random, task: WorkflowHandle): Shot {
  let left = random.next() * TOTAL;
  const [, make] = REQUESTS.find(([weight]) => (left -= weight) < 0) ?? [0, () => ['addActivity', {}] as never];
  return new Shot(task, ...make(random));
}

/** Breaks of a rule that only the moment shows. */
export type Complaint = (text: string) => void;

interface Fire {
  readonly task: WorkflowHandle;
  readonly shots: Shot[];
  readonly complain: Complaint;
  isOver(): boolean;
}

/** One client: sends each request twice at once, many a third time later, and some ids with something else. */
export async function shoot({ task, shots, complain, isOver }: Fire, random: Random): Promise<void> {
  const late: Promise<void>[] = [];
  while (!isOver()) {
    const shot = anyRequest(random, task);
    shots.push(shot);
    const updateId = random.chance(0.3) ? shot.id : undefined;
    await Promise.all([shot.send(updateId), shot.send(updateId)]);
    if (random.chance(0.3)) late.push(sendLater(shot, random.next() * 3_000, complain));
    if (shot.isAccepted && random.chance(0.05)) {
      const reply = await shot.misuse();
      if (!('refused' in reply) || reply.refused !== 'REQUEST_CONFLICT') {
        complain(`GN10: other content under ${shot.id} was answered ${JSON.stringify(reply)}`);
      }
    }
    await sleep(random.next() * 20);
  }
  await Promise.all(late);
}

async function sendLater(shot: Shot, delayMs: number, complain: Complaint): Promise<void> {
  await sleep(delayMs);
  await repeat(shot, complain);
}

/** Sends a request once more; what was accepted before is accepted again. */
export async function repeat(shot: Shot, complain: Complaint): Promise<void> {
  const wasAccepted = shot.isAccepted;
  const reply = await shot.send();
  if (wasAccepted && 'refused' in reply) complain(`GN10: accepted ${shot.kind} ${shot.id} later ${reply.refused}`);
}

/** Has the task go on as a new run at moments of chance. */
export async function rollOver({ task, isOver }: Pick<Fire, 'task' | 'isOver'>, random: Random): Promise<void> {
  while (!isOver()) {
    await task.signal(workersUpgradedSignal).catch(() => undefined);
    await sleep(random.next() * 2_000);
  }
}
