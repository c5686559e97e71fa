import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-setup-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Makes an executable that says the version of a Temporal CLI. */
function fake(place: string, version: string): string {
  mkdirSync(join(folder, place), { recursive: true });
  const path = join(folder, place, 'temporal');
  writeFileSync(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`, { mode: 0o755 });
  return path;
}

function find(env: Record<string, string>): { path?: string; from?: string; tries: string[] } {
  const script = `import { findTemporal } from './scripts/temporal-binary.mjs';
    process.stdout.write(JSON.stringify(findTemporal(${JSON.stringify({ PERDURE_HOME: folder, ...env })})));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
  });
  return JSON.parse(stdout) as ReturnType<typeof find>;
}

describe('findTemporal', () => {
  it('takes a named path before PATH before the cache', () => {
    const cached = fake('bin', '1.9.1');
    expect(find({})).toMatchObject({ path: cached, from: 'cache' });
    const onPath = fake('path', '1.9.1');
    expect(find({ PATH: join(folder, 'path') })).toMatchObject({ path: onPath, from: 'PATH' });
    const named = fake('named', '1.9.1');
    const env = { PATH: join(folder, 'path'), TEMPORAL_CLI_PATH: named };
    expect(find(env)).toMatchObject({ path: named, from: 'TEMPORAL_CLI_PATH' });
  });

  it('passes over one that is too old, and says so', () => {
    const cached = fake('bin', '1.9.1');
    fake('path', '1.0.0');
    const found = find({ PATH: join(folder, 'path') });
    expect(found.path).toBe(cached);
    expect(found.tries.join('\n')).toContain('is version 1.0.0, older than 1.3');
  });

  it('takes the one of the usual home before anything is fetched for another home', () => {
    const usual = fake('.perdure/bin', '1.9.1');
    expect(find({ HOME: folder })).toMatchObject({ path: usual, from: 'usual cache' });
    const cached = fake('bin', '1.9.1');
    expect(find({ HOME: folder })).toMatchObject({ path: cached, from: 'cache' });
  });

  it('takes no other one when the named path cannot be used', () => {
    fake('bin', '1.9.1');
    const found = find({ TEMPORAL_CLI_PATH: join(folder, 'absent') });
    expect(found.path).toBeUndefined();
    expect(found.tries).toEqual([`TEMPORAL_CLI_PATH: ${join(folder, 'absent')} is no executable file`]);
  });
});
