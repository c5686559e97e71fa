// Records the histories that the replay test keeps: npm run histories [-- NAME ...]
import { mkdir, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { WORKFLOW } from '../../contract/names';
import { RULES } from '../../contract/run';
import { temporalBinary } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { root } from '../helpers/root';
import { Stage } from '../helpers/stage';
import { scenarios, type Scenario } from './scenarios';

const run = promisify(execFile);
const folder = join(root, 'test', 'replay', 'histories');

/** Types that run beside tasks: a scenario's own are the ones that began with it. */
const BESIDE: readonly string[] = [
  WORKFLOW.project,
  WORKFLOW.sweepOrphans,
  WORKFLOW.serveReceipts,
  WORKFLOW.deliverReceipt,
  WORKFLOW.removeRuns,
];

/** Runs of a task's chain, of its children and beside it, oldest first. */
async function runsOf(client: Client, task: WorkflowHandle, since: number): Promise<Run[]> {
  const runs: (Run & { at: number })[] = [];
  for await (const { workflowId, runId, type, startTime, parentExecution } of client.workflow.list()) {
    const isBeside = BESIDE.includes(type) && startTime.getTime() >= since;
    const isOurs = workflowId === task.workflowId || parentExecution?.workflowId === task.workflowId;
    if (isOurs || isBeside) runs.push({ workflowId, runId, type, at: startTime.getTime() });
  }
  return runs.sort((a, b) => a.at - b.at);
}

interface Run {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
}

/** A history in the form that operators get from the `temporal` CLI. */
async function historyOf({ workflowId, runId }: Run, address: string): Promise<string> {
  const options = ['--workflow-id', workflowId, '--run-id', runId, '--output', 'json', '--address', address];
  const { stdout } = await run(temporalBinary(), ['workflow', 'show', ...options], { maxBuffer: 64 * 1024 * 1024 });
  return `${JSON.stringify(JSON.parse(stdout))}\n`;
}

async function record(stage: Stage, { name, workflows, play }: Scenario): Promise<void> {
  stage.host.run = (order) => goodReport(order);
  stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  const since = Date.now();
  const task = await play(stage);
  for (const workflow of workflows) {
    const runs = (await runsOf(stage.client, task, since)).filter(({ type }) => type === WORKFLOW[workflow]);
    if (runs.length === 0) throw new Error(`${name} ran no ${workflow}`);
    await mkdir(join(folder, workflow), { recursive: true });
    for (const [index, run] of runs.entries()) {
      // Histories of earlier rules stay beside: open runs play by them.
      const suffix = `${index === 0 ? '' : `-${String(index + 1)}`}.rules-${String(RULES)}`;
      await writeFile(join(folder, workflow, `${name}${suffix}.json`), await historyOf(run, stage.server.address));
    }
  }
  process.stdout.write(`${name}: ${workflows.join(', ')}\n`);
}

async function main(names: string[]): Promise<void> {
  const stage = await Stage.open();
  try {
    for (const scenario of scenarios) {
      if (names.length === 0 || names.includes(scenario.name)) await record(stage, scenario);
    }
  } finally {
    await stage.close();
  }
}

void main(process.argv.slice(2));
