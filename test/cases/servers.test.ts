import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer, until } from '../helpers/dev-server';
import { GrpcProxy } from '../helpers/grpc-proxy';
import { Machine } from '../helpers/machine';

const diagnosisSchema = z.looseObject({ checks: z.array(z.looseObject({ name: z.string(), ok: z.boolean() })) });

const UNAUTHENTICATED = 16;

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
  const { checks } = diagnosisSchema.parse(await machine.begin(['doctor'], { env: env() }));
  return checks.filter(({ ok }) => !ok).map(({ name }) => name);
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
