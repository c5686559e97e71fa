import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer, until } from '../helpers/dev-server';
import { GrpcProxy } from '../helpers/grpc-proxy';
import { Machine } from '../helpers/machine';
import { end } from '../helpers/process';

jest.setTimeout(180_000);

const UNAUTHENTICATED = 16;
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

/** Names of the checks that doctor finds not in order. */
async function troubles(): Promise<string[]> {
  const { checks } = (await machine.begin(['doctor'], { env: env() })) as unknown as {
    checks?: { name: string; ok: boolean }[];
  };
  return (checks ?? []).filter(({ ok }) => !ok).map(({ name }) => name);
}

describe('a worker', () => {
  it('that starts before its server joins in when it comes, and does so again after a restart (P73)', async () => {
    await server.kill();
    const starting = startWorker();
    await server.restart();
    const worker = await starting;
    provider.release();
    expect(await run('W-1')).toMatchObject({ status: 0, taskStatus: 'completed' });
    await server.kill();
    await server.restart();
    expect(await run('W-2')).toMatchObject({ status: 0, taskStatus: 'completed' });
    expect(worker.exitCode).toBeNull();
    expect(await troubles()).not.toContain('orchestrator worker');
  });

  it('that is not there is named by doctor and by whoever dispatches (P73)', async () => {
    expect(await troubles()).toEqual(expect.arrayContaining(['orchestrator worker', 'host worker']));
    await machine.begin(['task', 'create', '--title', 'Go', '--id', 'W-3']);
    await machine.startWorker('orchestrator');
    expect(await machine.read(['dispatch', 'W-3'], env())).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^warning: no worker polls perdure-host@/),
    });
    expect(await machine.begin(['why', 'W-3'])).toMatchObject({
      facts: expect.arrayContaining([expect.stringMatching(/^no worker polls perdure-host@/)]),
    });
  });

  it('whose key is revoked ends with an error, or works again when the key does (P73)', async () => {
    const proxy = await GrpcProxy.start(server.address);
    const worker = await machine.startWorker('all', { ...env(), TEMPORAL_ADDRESS: proxy.address });
    const hasEnded = () => worker.exitCode !== null;
    let refused = 0;
    proxy.decide = () => {
      refused += 1;
      return { status: UNAUTHENTICATED, message: 'the key was revoked' };
    };
    proxy.cut();
    await until(() => refused > 10 || hasEnded());
    proxy.decide = () => 'pass';
    provider.release();
    const settled = run('W-4');
    await Promise.race([settled, once(worker, 'exit')]);
    if (hasEnded()) {
      expect(worker.exitCode).not.toBe(0);
      await startWorker();
    }
    expect(await settled).toMatchObject({ status: 0, taskStatus: 'completed' });
    await proxy.close();
  });
});

/** The task of every attempt that reached this machine, whatever became of it. */
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
    for (const isServerFirst of [true, false, true]) {
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
