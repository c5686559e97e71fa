import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome } from '../../client/home';

let root: string;
let path: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-home-'));
  path = join(root, 'deep', 'home');
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const refusal = (code: string, error: RegExp) => ({
  failure: expect.objectContaining({ code, error: expect.stringMatching(error) as string }) as object,
});

describe('openHome', () => {
  it('makes the home for its owner only', async () => {
    await openHome({ PERDURE_HOME: path });
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it('leaves the mode of a home that is there', async () => {
    await openHome({ PERDURE_HOME: root });
    expect(statSync(root).mode & 0o777).toBe(0o700);
  });

  it('gives one host id to all who open it at once, and keeps it', async () => {
    const homes = await Promise.all(Array.from({ length: 20 }, () => openHome({ PERDURE_HOME: path })));
    const again = await openHome({ PERDURE_HOME: path });
    expect(new Set([...homes, again].map(({ hostId }) => hostId)).size).toBe(1);
    expect(again.hostId).toMatch(/^[a-z0-9][a-z0-9-]*-[0-9a-f]{4}$/);
    expect(readdirSync(path)).toEqual(['host.json']);
  });

  it('refuses a host file that is damaged and names it', async () => {
    writeFileSync(join(root, 'host.json'), '{"hostId":"a/b"}');
    await expect(openHome({ PERDURE_HOME: root })).rejects.toMatchObject(refusal('INVALID_ARGUMENT', /host\.json/));
  });

  it.each(['/proc/nothing', '/dev/null/home', '/etc/hostname'])('refuses %s, which can be no home', async (home) => {
    await expect(openHome({ PERDURE_HOME: home })).rejects.toMatchObject(refusal('INVALID_ARGUMENT', /cannot be/));
  });

  it('takes the tenant from the environment, `default` without one (GN1)', async () => {
    expect((await openHome({ PERDURE_HOME: path })).tenantId).toBe('default');
    expect((await openHome({ PERDURE_HOME: path, PERDURE_TENANT: 'acme' })).tenantId).toBe('acme');
  });

  it('refuses a tenant that could leave its workflow ids', async () => {
    const opened = openHome({ PERDURE_HOME: path, PERDURE_TENANT: 'a/b' });
    await expect(opened).rejects.toMatchObject(refusal('INVALID_ARGUMENT', /PERDURE_TENANT/));
  });

  it('fills what the configuration leaves out with the defaults', async () => {
    writeFileSync(join(root, 'config.json'), '{"limits":{"timeMs":60000},"policy":{"model":"m"}}');
    const { config } = await openHome({ PERDURE_HOME: root });
    expect(config.limits).toMatchObject({ timeMs: 60_000, inactivityMs: 300_000 });
    expect(config.policy).toEqual({ sandbox: 'workspace-write', model: 'm' });
  });

  it.each([
    ['an unknown key', '{"limit":{}}'],
    ['an unknown key inside', '{"limits":{"time":1}}'],
    ['a value out of range', '{"limits":{"timeMs":1}}'],
    ['text that is no JSON', 'limits: 1'],
  ])('refuses a configuration with %s, names the file and shows what it should hold', async (_, content) => {
    writeFileSync(join(root, 'config.json'), content);
    const opened = openHome({ PERDURE_HOME: root });
    await expect(opened).rejects.toMatchObject(refusal('INVALID_ARGUMENT', /config\.json/));
    await expect(opened).rejects.toMatchObject({
      failure: { hint: expect.stringContaining('{"limits":{') as string },
    });
  });
});
