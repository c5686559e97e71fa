import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer, until } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { end } from '../helpers/process';

const TASKS = 6;
const STARTS = 3;

let directory: string;
let server: DevServer;
let machine: Machine;
let provider: CountedProvider;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-servers-'));
  server = await DevServer.start(join(directory, 'temporal.db'));
  machine = await Machine.make(server);
  provider = new CountedProvider(machine.home.path);
});
afterEach(async () => {
  await machine.dispose();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const env = () => ({ PERDURE_CODEX_BIN: provider.program });
const startWorker = () => machine.startWorker('all', env());
const run = (id: string) => machine.begin(['run', '--title', 'Go', '--id', id], { env: env() });

/** Waits until so many agents were started. */
const startsOf = (count: number) => until(() => provider.starts().length >= count);

describe('a server that is killed', () => {
  it('in the middle of many dispatches loses none of them, and starts none twice (P76)', async () => {
    await startWorker();
    const ids = Array.from({ length: TASKS }, (_, serial) => `K-${String(serial)}`);
    const waiting = ids.map(run);
    await startsOf(TASKS / 2);
    await server.kill();
    await server.restart();
    provider.release();
    const settled = await Promise.all(waiting);
    expect(settled.map(({ taskStatus }) => taskStatus)).toEqual(ids.map(() => 'completed'));
    expect(provider.starts()).toHaveLength(TASKS);
  });

  it('again and again, as the worker is, queues a waiting task no second time (P102)', async () => {
    const waiting = run('Q-1');
    await until(async () => (await machine.perdure('why', 'Q-1'))['phase'] === 'dispatchTask');
    let worker = await machine.startWorker('orchestrator');
    for (const isServerFirst of [true, false]) {
      if (isServerFirst) await server.kill();
      await end(worker);
      if (!isServerFirst) await server.kill();
      await server.restart();
      worker = await machine.startWorker('orchestrator');
    }
    await machine.startWorker('host', env());
    await startsOf(1);
    provider.release();
    expect(await waiting).toMatchObject({ status: 0, taskStatus: 'completed' });
    expect(provider.starts()).toHaveLength(1);
    expect(await machine.attempts('Q-1')).toMatchObject([{ mode: 'start', spawns: 1 }]);
  });
});

describe('a worker that starts while tasks come in', () => {
  it("runs each of them once, and takes its own runs for no one else's (P101)", async () => {
    provider.release();
    const ids = Array.from({ length: STARTS }, (_, serial) => `S-${String(serial)}`);
    for (const id of ids) {
      const waiting = [`${id}-a`, `${id}-b`].map(run);
      const worker = await startWorker();
      waiting.push(run(`${id}-c`));
      for (const settled of await Promise.all(waiting)) expect(settled).toMatchObject({ taskStatus: 'completed' });
      await end(worker);
    }
    expect(provider.starts()).toHaveLength(3 * STARTS);
    expect(machine.runs()).toHaveLength(3 * STARTS);
  });
});
