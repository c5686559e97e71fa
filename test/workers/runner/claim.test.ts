import { rmSync } from 'node:fs';
import { countSpawns, readClaim, readExit, requestStop } from '../../../activities/provider/run-directory';
import { createProviderHost, goodRun } from '../../helpers/provider-host';
import { prepareRun, startRunner } from '../../helpers/runner-process';

describe('claim of an attempt', () => {
  const host = createProviderHost();
  afterAll(() => host.dispose());
  const started = (): number => host.agentLog().filter((entry) => entry.started === true).length;

  it('goes to one of several runners that start at once, and only that one spawns (DF-6)', async () => {
    const paths = prepareRun(host, goodRun());
    const runners = [1, 2, 3, 4].map(() => startRunner(host, paths));
    expect(await Promise.all(runners.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    expect(countSpawns(paths)).toBe(1);
    expect(started()).toBe(1);
    const claim = readClaim(paths);
    expect(runners.map(({ child }) => child.pid)).toContain(claim.kind === 'found' ? claim.value.pid : 0);
  });

  it('is spent for ever: a later runner starts nothing (DF-8)', async () => {
    const paths = prepareRun(host, goodRun());
    await startRunner(host, paths).ended;
    const before = started();
    await startRunner(host, paths).ended;
    expect(started()).toBe(before);
    expect(countSpawns(paths)).toBe(1);
  });

  it('stays spent when somebody deletes it: the ledger says so too', async () => {
    const paths = prepareRun(host, goodRun());
    await startRunner(host, paths).ended;
    const before = started();
    for (const path of [paths.claim, paths.exit, paths.runner]) rmSync(path);
    await startRunner(host, paths).ended;
    expect(started()).toBe(before);
    expect(readExit(paths).kind).toBe('absent');
  });

  it('spawns nothing when a stop is pending (DF-5)', async () => {
    const paths = prepareRun(host, goodRun());
    const before = started();
    requestStop(paths, 'user');
    await startRunner(host, paths).ended;
    expect(readExit(paths)).toMatchObject({
      value: { reason: 'stop', stopReason: 'user', startedAt: null, code: null, strays: 0 },
    });
    expect(readClaim(paths).kind).toBe('found');
    expect(countSpawns(paths)).toBe(0);
    expect(started()).toBe(before);
  });
});
