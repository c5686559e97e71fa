import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, resolveConnection, serverFile } from '../../client/connection';

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'perdure-home-'));
});
afterEach(() => {
  rmSync(path, { recursive: true, force: true });
});

function recordServer(content: string): void {
  mkdirSync(join(path, 'temporal'), { recursive: true });
  writeFileSync(serverFile(path), content);
}

/** An environment without the profile of whoever runs this test. */
const env = (more: Record<string, string> = {}) => ({ XDG_CONFIG_HOME: path, HOME: path, ...more });

describe('resolveConnection', () => {
  it('uses the local default when nothing names a server', () => {
    const { payloads, ...server } = resolveConnection(env(), { path });
    expect(payloads.keyIds).toEqual([]);
    expect(server).toEqual({
      address: 'localhost:7233',
      namespace: 'default',
      tls: undefined,
      apiKey: undefined,
      metadata: {},
      source: 'default',
    });
  });

  it('prefers the environment over the server of the home', () => {
    recordServer('{"address":"127.0.0.1:5"}');
    const plan = resolveConnection(env({ TEMPORAL_ADDRESS: 'there:7233', TEMPORAL_NAMESPACE: 'n' }), { path });
    expect(plan).toMatchObject({ address: 'there:7233', namespace: 'n', source: 'environment' });
  });

  it('counts an empty variable as none', () => {
    recordServer('{"address":"127.0.0.1:5"}');
    expect(resolveConnection(env({ TEMPORAL_ADDRESS: '' }), { path })).toMatchObject({ address: '127.0.0.1:5' });
  });

  it('reads a profile with its address, key and TLS', () => {
    const file = join(path, 'temporal.toml');
    writeFileSync(file, '[profile.work]\naddress = "cloud:7233"\nnamespace = "ns"\napi_key = "k"\n');
    const plan = resolveConnection(env({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'work' }), { path });
    expect(plan).toMatchObject({ address: 'cloud:7233', namespace: 'ns', apiKey: 'k', tls: true });
  });

  it('gives the server of the home no credentials that were meant for another one', () => {
    recordServer('{"address":"127.0.0.1:5"}');
    const plan = resolveConnection(env({ TEMPORAL_API_KEY: 'secret', TEMPORAL_TLS: 'true' }), { path });
    expect(plan).toMatchObject({ address: '127.0.0.1:5', apiKey: undefined, tls: undefined, source: 'home' });
  });

  it.each(['', 'no json', '{}', '{"address":""}'])('ignores a server record that says %j', (content) => {
    recordServer(content);
    expect(resolveConnection(env(), { path }).source).toBe('default');
  });

  it('refuses a profile that does not exist', () => {
    const resolve = () => resolveConnection(env({ TEMPORAL_PROFILE: 'nope' }), { path });
    expect(resolve).toThrow(/nope/);
  });
});

describe('connect', () => {
  it('says within 5 s that a server which accepts and never answers is unreachable', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = `127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
    const began = performance.now();
    const connecting = connect(resolveConnection(env({ TEMPORAL_ADDRESS: address }), { path }));
    await expect(connecting).rejects.toMatchObject({
      failure: { code: 'TEMPORAL_UNREACHABLE', error: expect.stringContaining(address) as string, retryable: true },
    });
    expect(performance.now() - began).toBeLessThan(5_000);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('refuses an address that can be none', async () => {
    const connecting = connect(resolveConnection(env({ TEMPORAL_ADDRESS: 'http://x:1' }), { path }));
    await expect(connecting).rejects.toMatchObject({ failure: { code: 'INVALID_ARGUMENT' } });
  });
});
