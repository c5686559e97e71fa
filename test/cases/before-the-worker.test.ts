import { randomUUID } from 'node:crypto';
import type { UpdateDefinition } from '@temporalio/common';
import type { WorkflowHandle } from '@temporalio/client';
import { DEFAULT_AGENT } from '../../contract/agent';
import { dispatchUpdate, stopUpdate } from '../../contract/run';
import { addActivityUpdate } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { Stage } from '../helpers/stage';

const TASKS = 10;

type Answers = Promise<PromiseSettledResult<unknown>[]>;

/** Sends an update that nobody answers yet, and waits until the server has it: what is sent next comes after it. */
async function send<A, I>(
  { stage, task }: { stage: Stage; task: WorkflowHandle },
  definition: UpdateDefinition<A, [I]>,
  input: I,
): Promise<{ answer: Promise<A> }> {
  const updateId = randomUUID();
  const answer = task.executeUpdate(definition, { updateId, args: [input] });
  answer.catch(() => undefined);
  const { workflowService, options } = stage.client;
  const updateRef = { workflowExecution: { workflowId: task.workflowId }, updateId };
  const look = () => workflowService.pollWorkflowExecutionUpdate({ namespace: options.namespace, updateRef });
  await until(() =>
    look().then(
      () => true,
      () => false,
    ),
  );
  return { answer };
}

/** Sends create, note, dispatch, stop and note, in this order and to nobody. */
async function sendAll(stage: Stage): Promise<{ task: WorkflowHandle; answers: Answers }> {
  const task = await stage.create();
  const to = { stage, task };
  const sent = [
    await send(to, addActivityUpdate, { summary: 'first' }),
    await send(to, dispatchUpdate, { agentId: DEFAULT_AGENT }),
    await send(to, stopUpdate, {}),
    await send(to, addActivityUpdate, { summary: 'second' }),
  ];
  return { task, answers: Promise.allSettled(sent.map(({ answer }) => answer)) };
}

describe('requests that were sent before any worker was there', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open({ isEmpty: true });
  });
  afterEach(() => stage.close());

  it.each([
    ['that keeps workflows in memory', {}],
    ['that replays a workflow for every task', { maxCachedWorkflows: 0 }],
  ])('are all taken, in their order, by a worker %s: the stop comes before the start (P69)', async (_what, exact) => {
    const sent = [];
    while (sent.length < TASKS) sent.push(await sendAll(stage));
    await stage.startWorkers(exact);
    for (const { task, answers } of sent) {
      expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
      const { outcome, spawns } = await stage.settled(task, (await stage.lastAttempt(task)).attemptId);
      const { status, activities } = await stage.record(task);
      expect({ outcome, spawns, status }).toEqual({ outcome: 'stopped', spawns: 0, status: 'interrupted' });
      const notes = activities.filter(({ detail }) => detail.type === 'note');
      expect(notes.map(({ summary }) => summary)).toEqual(['first', 'second']);
    }
    expect(stage.host.orders).toEqual([]);
  });
});
