import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { makeRepository } from '../../scripts/demo/repository';
import { LocalStage } from '../../scripts/stage/local-stage';
import type { BenchOptions } from '../main';
import { startBareWorker } from './bare';
import { measureHappyPaths, type HappyPaths } from './happy';
import { measureLatency, type Latency } from './latency';
import { measureMemory, type Memory } from './memory';
import { profileOf, type Profile } from './profile';
import { happyPaths, measurePaths, type PathCost } from './paths';
import { watchQueries } from './queries';
import { measureRecovery, type Recovery } from './recovery';
import { tableOf } from './report';
import { writeStub } from './stub';
import { Tasks } from './tasks';
import { measureThroughput, type Throughput } from './throughput';

export interface OverheadFigures {
  readonly machine: { readonly cpus: number; readonly node: string; readonly platform: string };
  readonly latency: Latency;
  readonly profile: Profile;
  readonly happy: HappyPaths;
  readonly paths: PathCost[];
  readonly throughput: Throughput;
  readonly memory: Memory | null;
  readonly recovery: Recovery;
}

/** `npm run bench -- overhead`: what the product costs beside a bare workflow on the same server. */
export async function overhead({ isJson, signal }: BenchOptions): Promise<void> {
  const stage = await LocalStage.open({ name: 'perdure-bench', signal });
  try {
    const figures = await measure(stage, signal);
    const text = isJson ? JSON.stringify({ success: true, ...figures }) : tableOf(figures).join('\n');
    process.stdout.write(`${text}\n`);
  } finally {
    const left = await stage.close();
    if (left.length > 0) process.stderr.write(`bench: ended ${String(left.length)} processes that were left\n`);
  }
}

async function measure(stage: LocalStage, signal: AbortSignal): Promise<OverheadFigures> {
  const step = (text: string): void => {
    signal.throwIfAborted();
    process.stderr.write(`bench: ${text} ...\n`);
  };
  step('starting a server and workers');
  stage.env['PERDURE_CODEX_BIN'] = await writeStub(stage.root);
  stage.env['CODEX_HOME'] = join(stage.root, 'codex');
  await mkdir(stage.env['CODEX_HOME']);
  const tasks = new Tasks(stage, makeRepository(join(stage.root, 'repository')));
  // The sweep of every 5 minutes would do what a path is about to do.
  await writeFile(join(stage.home, 'config.json'), JSON.stringify({ sweep: { intervalMs: 0 } }));
  const worker = await stage.startWorker();
  await startBareWorker(stage);
  step('latency, by turns with the bare workflow');
  const { latency, samples } = await measureLatency(tasks, signal);
  const profile = await profileOf(tasks, samples);
  step('events and actions of a happy task');
  const queries = await watchQueries(tasks);
  const happy = await measureHappyPaths(tasks, queries);
  step('events and actions of every other path');
  const paths = [...happyPaths(happy), ...(await measurePaths({ tasks, queries, signal }))];
  step('many at once');
  const throughput = await measureThroughput(tasks);
  step('memory of running attempts');
  const memory = (await measureMemory(tasks, worker.pid, signal)) ?? null;
  step('kills and restarts of the worker');
  const recovery = await measureRecovery(tasks, worker);
  const machine = { cpus: cpus().length, node: process.version, platform: `${process.platform}-${process.arch}` };
  return { machine, latency, profile, happy, paths, throughput, memory, recovery };
}
