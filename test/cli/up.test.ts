import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { rememberKeys } from '../../client/remembered-keys';
import { DevServer, temporalBinary } from '../helpers/dev-server';
import { childrenOf, isRunning, LocalHome } from '../helpers/local-home';
import { until } from '../helpers/until';

const UP = ['up', '--port', '0', '--ui-port', '0'];
const perdure = join(__dirname, '..', '..', 'bin', 'perdure.js');

let home: LocalHome;
beforeEach(async () => {
  home = await LocalHome.make();
});
afterEach(async () => {
  await home.remove();
});

/** The worker process of an `up`: its child that is not the server. */
const workerOf = (pid: number): Promise<number> =>
  until(() => childrenOf(pid).find((child) => child !== home.server()?.pid));

describe('perdure up', () => {
  it('serves a home until Ctrl-C and leaves no process behind', async () => {
    const { child, ready } = await home.start(UP);
    const server = home.server();
    const worker = await workerOf(ready.pid);
    expect(ready).toMatchObject({ pid: child.pid, address: server?.address });

    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);

    expect([server?.pid, worker].filter(isRunning)).toEqual([]);
    expect(existsSync(home.file('up.json'))).toBe(false);
    expect(home.server()).toBeUndefined();
  });

  it('says at once, and once, that it stops', async () => {
    const { TEMPORAL_ADDRESS: _none, ...inherited } = process.env;
    const env = { ...inherited, PERDURE_HOME: home.path, TEMPORAL_CLI_PATH: temporalBinary() };
    const child = spawn(process.execPath, [perdure, ...UP, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = text(child.stderr);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect((await said).match(/perdure: stopping: runs are handed over, agents go on\n/g)).toHaveLength(1);
  });

  it('says once why its worker cannot start', () => {
    rememberKeys(home.path, ['k1']);
    const { TEMPORAL_ADDRESS: _none, ...inherited } = process.env;
    const env = { ...inherited, PERDURE_HOME: home.path, TEMPORAL_CLI_PATH: temporalBinary() };
    const { status, stderr } = spawnSync(process.execPath, [perdure, ...UP], { env, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr.match(/PAYLOAD_KEY_MISSING/g)).toHaveLength(1);
  });

  it('refuses a second up on the same home and names the first', async () => {
    const { ready } = await home.start(UP);

    const env = { ...process.env, PERDURE_HOME: home.path };
    const second = spawnSync(process.execPath, [perdure, ...UP, '--json'], { env, encoding: 'utf8' });

    expect(second.status).toBe(1);
    const answer: unknown = JSON.parse(second.stdout);
    expect(answer).toMatchObject({ success: false, code: 'HOME_BUSY', error: expect.stringContaining(ready.address) });
    expect(answer).toMatchObject({ error: expect.stringContaining(`pid ${String(ready.pid)}`) });
  });

  it('adopts the server of an up that was killed, whose worker ended with it', async () => {
    const first = await home.start(UP);
    const server = home.server();
    const worker = await workerOf(first.ready.pid);
    first.child.kill('SIGKILL');
    await until(() => !isRunning(worker));
    expect(isRunning(server?.pid)).toBe(true);

    const second = await home.start(UP);

    expect(second.ready.address).toBe(first.ready.address);
    expect(home.server()?.pid).toBe(server?.pid);
    second.child.kill('SIGTERM');
    expect(await once(second.child, 'exit')).toEqual([0, null]);
    expect(isRunning(server?.pid)).toBe(false);
  });

  it('starts a server and a worker that die again, on the same address', async () => {
    const { ready } = await home.start(UP);
    const [server, worker] = [home.server()?.pid ?? 0, await workerOf(ready.pid)];

    process.kill(server, 'SIGKILL');
    process.kill(worker, 'SIGKILL');

    // It is recorded once it answers, a while after it was started.
    const again = await until(() => [home.server()].find((now) => now !== undefined && now.pid !== server));
    await until(() => childrenOf(ready.pid).length === 2 && ![server, worker].some(isRunning));
    expect(again.address).toBe(ready.address);
  });

  it('starts no server when the Temporal environment names one', async () => {
    const server = await DevServer.start();
    try {
      const { child, ready } = await home.start(UP, { TEMPORAL_ADDRESS: server.address });
      expect(ready).toMatchObject({ address: server.address, ui: null });
      expect(home.server()).toBeUndefined();
      child.kill('SIGINT');
      await once(child, 'exit');
    } finally {
      await server.stop();
    }
  });
});

describe('perdure worker', () => {
  it('says that it is ready and ends at SIGTERM', async () => {
    const server = await DevServer.start();
    try {
      const { child, ready } = await home.start(['worker', '--role', 'host'], { TEMPORAL_ADDRESS: server.address });
      expect(ready).toMatchObject({ role: 'host', address: server.address, pid: child.pid });
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    } finally {
      await server.stop();
    }
  });
});
