import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { TypedSearchAttributes } from '@temporalio/common';
import { z } from 'zod';
import { firstAttributes } from '../../client/create-task';
import { ORCHESTRATOR_QUEUE, taskWorkflowId, WORKFLOW } from '../../contract/names';
import { RULES } from '../../contract/run';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { memoryOf } from '../helpers/outside-view';
import { newTask } from '../helpers/stage';
import { until } from '../helpers/until';

const TASKS = 5_000;
const AT_ONCE = 100;
/** What a list of all may take above a list of ten: its tasks are some 2 MB. */
const MEMORY_MIB = 150;

const listSchema = z.object({ tasks: z.array(z.looseObject({ id: z.string() })), truncated: z.boolean().optional() });

let server: DevServer;
let machine: Machine;

/** Tasks whose first step lies a day ahead: lists show them, and no worker has to do with them. */
async function start(serial: number): Promise<void> {
  const task = newTask({ id: `T-${String(serial)}`, title: `Task ${String(serial)} ${'x'.repeat(100)}` });
  await server.client.workflow.start(WORKFLOW.task, {
    workflowId: taskWorkflowId({ tenantId: task.tenantId, taskId: task.id }),
    taskQueue: ORCHESTRATOR_QUEUE,
    args: [{ create: task, version: RULES }],
    startDelay: '1 day',
    memo: { title: task.title },
    typedSearchAttributes: new TypedSearchAttributes(firstAttributes({ type: WORKFLOW.task, newTask: task })),
  });
}

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server);
  await machine.startWorker('orchestrator');
  let serial = 0;
  const startAll = async () => {
    while (serial < TASKS) await start((serial += 1));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, startAll));
  const query = "WorkflowType = 'task'";
  await until(async () => (await server.client.workflow.count(query)).count === TASKS);
}, 600_000);
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

const list = async (...options: string[]) =>
  listSchema.parse(JSON.parse((await machine.read(['task', 'list', '--json', ...options])).stdout));

/** Peak memory in MiB of a command that has all of its answer and cannot get rid of it. */
async function peakOf(...options: string[]): Promise<number> {
  const child = machine.spawn(['task', 'list', ...options]);
  const ended = once(child, 'exit');
  await once(child.stdout, 'readable');
  const peak = memoryOf(child.pid ?? 0, 'VmHWM');
  await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return peak;
}

describe(`a list of ${String(TASKS)} tasks`, () => {
  it('has every task once, and says when it was cut (P114)', async () => {
    const all = await list('--limit', String(TASKS));
    expect(new Set(all.tasks.map(({ id }) => id)).size).toBe(TASKS);
    expect([all.tasks.length, all.truncated]).toEqual([TASKS, undefined]);
    const some = await list('--limit', '10');
    expect([some.tasks.length, some.truncated]).toEqual([10, true]);
    expect((await list()).tasks).toHaveLength(100);
    const { stdout, stderr, status } = await machine.read(['task', 'list', '--limit', '10']);
    expect([stdout.trimEnd().split('\n').length, status]).toEqual([11, 0]);
    expect(stderr).toContain('there are more; see --limit');
  });

  it('is left quietly by a reader who has seen enough (P114)', async () => {
    const { status, first, stderr } = await machine.head(['task', 'list', '--limit', String(TASKS)]);
    expect([status, stderr]).toEqual([0, '']);
    expect(first).toMatch(/^ID\b/i);
  });

  it('takes little memory (P114)', async () => {
    const few = await peakOf('--limit', '10', '--json');
    const all = await peakOf('--limit', String(TASKS), '--json');
    expect(all - few).toBeLessThan(MEMORY_MIB);
  });
});
