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

/** Makes an executable that says something. */
function program(place: string, name: string, says: string): string {
  mkdirSync(join(folder, place), { recursive: true });
  const path = join(folder, place, name);
  writeFileSync(path, `#!/bin/sh\necho "${says}"\n`, { mode: 0o755 });
  return path;
}

const cli = (place: string, version: string) =>
  program(place, 'temporal', `temporal version ${version} (Server 1.32.0, UI 2.54.1)`);
const server = (place: string, flag = '--enable-time-skipping') => program(place, 'temporal-test-server', flag);

/** Evaluates an expression with all of set-up's binaries in scope. */
function evaluate(expression: string): string {
  const script = `import { findBinary, provideBinary } from './scripts/binary.mjs';
    import { temporalCli, testServer } from './scripts/temporal-binaries.mjs';
    process.stdout.write(JSON.stringify(await (${expression})));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout;
}

/** A home of its own, and nothing in the usual one. */
const home = () => ({ PERDURE_HOME: folder, HOME: join(folder, 'nobody') });

type Found = { path?: string; from?: string; tries: string[] };

const find = (env: Record<string, string>, binary = 'temporalCli'): Found =>
  JSON.parse(evaluate(`findBinary(${binary}, ${JSON.stringify({ ...home(), ...env })})`)) as Found;

describe('findBinary', () => {
  it('takes a named path before PATH before the cache', () => {
    const cached = cli('bin', '1.9.1');
    expect(find({})).toMatchObject({ path: cached, from: 'cache' });
    const onPath = cli('path', '1.9.1');
    expect(find({ PATH: join(folder, 'path') })).toMatchObject({ path: onPath, from: 'PATH' });
    const named = cli('named', '1.9.1');
    const env = { PATH: join(folder, 'path'), TEMPORAL_CLI_PATH: named };
    expect(find(env)).toMatchObject({ path: named, from: 'TEMPORAL_CLI_PATH' });
  });

  it('looks for the time-skipping server in the same places', () => {
    const cached = server('bin');
    expect(find({}, 'testServer')).toMatchObject({ path: cached, from: 'cache' });
    const onPath = server('path');
    expect(find({ PATH: join(folder, 'path') }, 'testServer')).toMatchObject({ path: onPath, from: 'PATH' });
    const named = server('named');
    const env = { PATH: join(folder, 'path'), TEMPORAL_TEST_SERVER_PATH: named };
    expect(find(env, 'testServer')).toMatchObject({ path: named, from: 'TEMPORAL_TEST_SERVER_PATH' });
  });

  it('passes over a CLI that is too old and a server that cannot skip time, and says so', () => {
    const cached = cli('bin', '1.9.1');
    cli('path', '1.0.0');
    const found = find({ PATH: join(folder, 'path') });
    expect(found.path).toBe(cached);
    expect(found.tries.join('\n')).toContain('is version 1.0.0, older than 1.3');
    const path = server('bin', '--port');
    expect(find({}, 'testServer').tries).toContain(`cache: ${path} cannot skip time`);
  });

  it('takes the one of the usual home before anything is fetched for another home', () => {
    const usual = cli('.perdure/bin', '1.9.1');
    expect(find({ HOME: folder })).toMatchObject({ path: usual, from: 'usual cache' });
    const cached = cli('bin', '1.9.1');
    expect(find({ HOME: folder })).toMatchObject({ path: cached, from: 'cache' });
  });

  it('takes no other one when the named path cannot be used', () => {
    cli('bin', '1.9.1');
    const found = find({ TEMPORAL_CLI_PATH: join(folder, 'absent') });
    expect(found.path).toBeUndefined();
    expect(found.tries).toEqual([`TEMPORAL_CLI_PATH: ${join(folder, 'absent')} is no executable file`]);
  });
});

describe('provideBinary', () => {
  const provide = (sources: string, env: object = {}): string =>
    evaluate(`provideBinary({ ...testServer, sources: ${sources} }, ${JSON.stringify({ ...home(), ...env })},
      { say: () => undefined }).catch(({ message }) => message)`);

  it('fetches into the cache from the first source that has it', () => {
    const brought = server('brought');
    const sources = `[['one', () => { throw new Error('away') }], ['two', () => ${JSON.stringify(brought)}]]`;
    const path = join(folder, 'bin', 'temporal-test-server');
    expect(JSON.parse(provide(sources))).toEqual({ path, version: 'unnumbered', from: 'two', tries: ['one: away'] });
    expect(find({}, 'testServer')).toMatchObject({ path, from: 'cache' });
  });

  it('fails with each try and what to do when it cannot be had', () => {
    const message = provide(`[['one', () => { throw new Error('away') }]]`);
    expect(message).toContain('No usable time-skipping Temporal test server, which the tests need.');
    expect(message).toContain('- one: away');
    expect(message).toContain('set TEMPORAL_TEST_SERVER_PATH');
  });

  it('fetches nothing in place of a named one that cannot be used', () => {
    const message = provide(`[['one', () => { throw new Error('asked') }]]`, { TEMPORAL_TEST_SERVER_PATH: '/absent' });
    expect(message).toContain('Correct TEMPORAL_TEST_SERVER_PATH or unset it.');
    expect(message).not.toContain('asked');
  });
});
