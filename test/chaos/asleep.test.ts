import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../activities/provider/thrown';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { markedWith, runnersOf } from '../helpers/outside-view';
import { Random } from '../helpers/random';
import { until } from '../helpers/until';

const START = `echo '{"type":"thread.started","thread_id":"01a00000-0000-7000-8000-000000000001"}'`;
const DONE = `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`;
const LIMITS = { inactivityMs: 20_000, timeMs: 40_000 };
/** Longer than both limits, and than a heartbeat may fail to come. */
const ASLEEP_MS = 50_000;

let server: DevServer;
let machine: Machine;
let worker: ChildProcess;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  writeFileSync(machine.home.file('config.json'), JSON.stringify({ sweep: { intervalMs: 0 }, limits: LIMITS }));
  worker = await machine.startWorker('all', { PERDURE_CODEX_BIN: machine.agent });
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

/** Whether the process was there to be stopped: what the agent runs comes and goes. */
function stopped(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGSTOP');
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return false;
    throw error;
  }
}

const pause = async (given: number[], random: Random): Promise<void> => {
  const pids = given.filter(stopped);
  await sleep(ASLEEP_MS);
  const waking = pids.map((pid) => ({ pid, turn: random.next() })).sort((a, b) => a.turn - b.turn);
  for (const { pid } of waking) process.kill(pid, 'SIGCONT');
};

describe('a machine that slept', () => {
  it('ends no run for it, by its silence or by its time, in whatever order its processes wake (P104)', async () => {
    const go = machine.home.file('go');
    machine.writeAgent(START, `while [ ! -e '${go}' ]; do sleep 0.05; done`, DONE);
    const answer = machine.perdure('run', '--title', 'Sleeps', '--id', 'T-104');
    const attemptId = await machine.nextRun();
    await until(() => machine.hasRunner(attemptId) && markedWith(attemptId).some(({ isLeader }) => isLeader));
    const parts = [...markedWith(attemptId), ...runnersOf(machine.home.path)].map(({ pid }) => pid);
    await pause([...new Set([Number(worker.pid), Number(server.pid), ...parts])], new Random(104));
    await until(async () => machine.followerOf(attemptId) === worker.pid && (await isRunning()));
    writeFileSync(go, '');
    expect(await answer).toMatchObject({ success: true });
    const [attempt, ...others] = await machine.attempts('T-104');
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({ attemptId, spawns: 1, outcome: 'completed' });
    // Nor has its delivery, if it had one, used up the time of the sleep (BG-16).
    expect(attempt?.ranMs).toBeLessThan(ASLEEP_MS);
  });
});

const isRunning = async () => JSON.stringify(await machine.perdure('why', 'T-104')).includes('"attention":"running"');
