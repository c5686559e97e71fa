import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity } from '../../cli/up/process-identity';
import type { ScriptedEndpoint } from '../scripted-endpoint';
import { startPerdure, type RunningCommand } from '../stage/commands';
import { followerOf } from '../stage/follower';
import type { LocalStage } from '../stage/local-stage';
import { endChild, type WorkerProcess } from '../stage/worker';
import { RunEvidence, until, type Executor } from './evidence';
import type { Show } from './show';

export const TASK_ID = 'T-hello';
export const LINE = 'hello from Codex';
export const COMMAND = `sleep 8; echo "${LINE}" >> hello.txt`;
export const CRITERION = `test "$(cat hello.txt)" = "${LINE}"`;
const SCRIPT = [`@shell ${COMMAND}`, '@say I wrote hello.txt.'].join('\n');

/** What the acts play with. */
export interface Scene {
  readonly show: Show;
  readonly stage: LocalStage;
  readonly endpoint: ScriptedEndpoint;
  readonly repository: string;
  /** What Codex may do: without user namespaces its sandbox runs nothing. */
  readonly sandbox: string;
  readonly signal: AbortSignal;
}

/** A run in which Codex is busy, and what is known of it. */
export interface BusyRun {
  readonly command: RunningCommand;
  readonly evidence: RunEvidence;
  readonly executor: Executor;
}

/** The task is created and dispatched by `perdure run`; answers when Codex is in the middle of its command. */
export async function dispatchAct(scene: Scene): Promise<BusyRun> {
  const { show, stage, repository, sandbox, signal } = scene;
  show.act('A task goes to Codex');
  const task = ['--id', TASK_ID, '--title', 'Write hello.txt', '--description', SCRIPT, '--workspace', repository];
  const args = ['run', ...task, '--accept', CRITERION, '--sandbox', sandbox];
  show.line(`$ perdure run --title "Write hello.txt" --accept '${CRITERION}' ...`);
  const command = startPerdure(stage, args, (line) => {
    show.live('perdure run', line);
  });
  const failed = command.ended.then((code) => {
    throw new Error(`perdure run ended with exit code ${String(code)} before Codex was at work`);
  });
  failed.catch(() => undefined);
  const evidence = await Promise.race([untilBusy(stage, signal), failed]);
  const executor = await evidence.executor();
  show.live('codex', `runs: ${COMMAND}`);
  show.line(`Codex is at work: pid ${String(executor.provider.pid)}, owned by the runner, pid ${pidOf(executor)}.`);
  return { command, evidence, executor };
}

/** Waits until Codex has said that it began its command. */
function untilBusy(stage: LocalStage, signal: AbortSignal): Promise<RunEvidence> {
  const runs = join(stage.home, 'runs');
  return until(async () => {
    const [attemptId] = await readdir(runs).catch(() => []);
    if (attemptId === undefined) return undefined;
    const evidence = new RunEvidence(join(runs, attemptId));
    const events = await evidence.events();
    const isBusy = events.some((line) => line.includes('"item.started"') && line.includes('"command_execution"'));
    // The runner records itself once Codex runs.
    const isRecorded = await evidence.executor().then(
      () => true,
      () => false,
    );
    return isBusy && isRecorded ? evidence : undefined;
  }, signal);
}

const pidOf = ({ runner }: Executor): string => String(runner.pid);

/** The worker is killed and started again; the run is adopted while the same Codex process goes on. */
export async function killAct({ show, stage, signal }: Scene, worker: WorkerProcess, run: BusyRun): Promise<void> {
  const { runner, provider } = run.executor;
  show.act('The worker is killed in the middle of the command');
  const killed = identityOf(worker.pid);
  const watch = watchAlive(provider);
  const killedAt = performance.now();
  const since = (): string => `${((performance.now() - killedAt) / 1_000).toFixed(1)} s`;
  await endChild(worker.child, 'SIGKILL');
  show.line(`$ kill -9 ${String(worker.pid)}`);
  show.check(`the worker is gone: pid ${String(worker.pid)}`, killed !== undefined && !isAlive(killed));
  show.check(`Codex and its runner go on without it`, isAlive(provider) && isAlive(runner));

  show.line('$ perdure worker');
  const successor = await stage.startWorker();
  show.line(`${since()} after the kill a new worker is ready: pid ${String(successor.pid)}`);
  const follower = await until(async () => {
    const found = await followerOf(stage.session, TASK_ID);
    return found === undefined || found.pid === successor.pid ? { found } : undefined;
  }, signal);
  const isAdopted = follower.found?.pid === successor.pid && (await run.evidence.spawns()) === 1;
  show.check(`${since()} after the kill the new worker follows the same run`, isAdopted);
  show.check(
    `Codex was the same live process all along: pid ${String(provider.pid)}, looked at ${String(watch.looks())} times`,
    watch.stop(),
  );
}

/** Looks at a process again and again; `stop` tells whether it lived at every look. */
function watchAlive(identity: ProcessIdentity): { looks(): number; stop(): boolean } {
  let looks = 0;
  let wasAlive = true;
  const look = (): void => {
    looks += 1;
    wasAlive &&= isAlive(identity);
  };
  const timer = setInterval(look, 20);
  return {
    looks: () => looks,
    stop() {
      clearInterval(timer);
      look();
      return wasAlive;
    },
  };
}

/** The task settles under the new worker; `perdure run`, which waited through the kill, ends well. */
export async function completeAct({ show, signal }: Scene, { command, executor }: BusyRun): Promise<void> {
  show.act('The task completes');
  const aborted = sleep(2 ** 31 - 1, undefined, { signal, ref: false }).then(() => null);
  const code = await Promise.race([command.ended, aborted]);
  show.check('perdure run, which waited through the kill, ended with exit code 0', code === 0);
  show.check('Codex and its runner ended by themselves', !isAlive(executor.provider) && !isAlive(executor.runner));
}
