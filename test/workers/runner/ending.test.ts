import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isSameProcess, type ProcessIdentity } from '../../../activities/provider/process-identity';
import {
  readExit,
  readRunner,
  requestStop,
  type ExitRecord,
  type RunPaths,
} from '../../../activities/provider/run-directory';
import {
  createProviderHost,
  goodRun,
  thread,
  type AgentLogEntry,
  type ProviderHost,
} from '../../helpers/provider-host';
import { prepareRun, startRunner } from '../../helpers/runner-process';
import { until } from '../../helpers/until';

const FOREVER = { sleep: 600_000 };

function exitOf(paths: RunPaths): ExitRecord {
  const exit = readExit(paths);
  if (exit.kind !== 'found') throw new Error(`no exit record: ${exit.kind}`);
  return exit.value;
}

describe('the end of a provider', () => {
  let host: ProviderHost;
  beforeEach(() => {
    host = createProviderHost();
  });
  afterEach(() => host.dispose());

  async function logged(pick: (entry: AgentLogEntry) => number | undefined): Promise<ProcessIdentity> {
    const pid = await until(() =>
      host
        .agentLog()
        .map(pick)
        .findLast((found) => found !== undefined),
    );
    const identity = identityOf(pid);
    if (identity === undefined) throw new Error(`process ${String(pid)} is gone already`);
    return identity;
  }

  it('is reported only when its daemons are gone too, and nothing foreign is touched (CX-29)', async () => {
    const foreign = spawn('sleep', ['671'], { detached: true, stdio: 'ignore' });
    try {
      const paths = prepareRun(host, [
        { ignore: ['SIGINT', 'SIGTERM'] },
        thread(),
        { daemon: 671, child: 672 },
        FOREVER,
      ]);
      const { ended } = startRunner(host, paths);
      const daemon = await logged((entry) => entry.daemon);
      const child = await logged((entry) => entry.child);
      requestStop(paths, 'user');
      await ended;
      expect(exitOf(paths)).toMatchObject({ signal: 'SIGKILL', reason: 'stop', stopReason: 'user', forced: true });
      expect(exitOf(paths).strays).toBeGreaterThanOrEqual(1);
      expect([isSameProcess(daemon), isSameProcess(child)]).toEqual(['dead', 'dead']);
      expect(host.agentLog().map(({ signal }) => signal)).toEqual(expect.arrayContaining(['SIGINT', 'SIGTERM']));
      expect(foreign.exitCode).toBeNull();
      expect(foreign.signalCode).toBeNull();
    } finally {
      foreign.kill('SIGKILL');
    }
  });

  it('takes along what the provider left running after a good end (P03)', async () => {
    const paths = prepareRun(host, [...goodRun(), { daemon: 600 }, { exit: 0 }]);
    await startRunner(host, paths).ended;
    expect(exitOf(paths)).toMatchObject({ code: 0, signal: null, reason: null, forced: false, strays: 1 });
    const daemon = host.agentLog().findLast((entry) => entry.daemon !== undefined)?.daemon ?? 0;
    expect(identityOf(daemon)).toBeUndefined();
  });

  it('comes with SIGINT first, and needs no more from a provider that obeys (CX-28)', async () => {
    const paths = prepareRun(host, [thread(), { child: 600 }, FOREVER]);
    const { ended } = startRunner(host, paths);
    await logged((entry) => entry.child);
    requestStop(paths, 'inactive');
    await ended;
    expect(exitOf(paths)).toMatchObject({ signal: 'SIGINT', stopReason: 'inactive', forced: false });
  });

  it('comes at the deadline (DW-13)', async () => {
    const paths = prepareRun(host, [thread(), FOREVER], { timeMs: 300 });
    await startRunner(host, paths).ended;
    expect(exitOf(paths)).toMatchObject({ reason: 'deadline', stopReason: null, code: null });
  });

  it('comes when it printed more than its limit (P14)', async () => {
    const paths = prepareRun(host, [thread(), { fill: 3_000_000 }, FOREVER], { outputBytes: 1_000_000 });
    await startRunner(host, paths).ended;
    expect(exitOf(paths)).toMatchObject({ reason: 'output_limit', signal: 'SIGINT' });
  });

  it('comes when the runner itself is asked to end, which a closing terminal does not do', async () => {
    const paths = prepareRun(host, [thread(), FOREVER]);
    const { child, ended } = startRunner(host, paths);
    await until(() => readRunner(paths).kind === 'found');
    child.kill('SIGHUP');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await ended;
    expect(exitOf(paths)).toMatchObject({ reason: 'stop', stopReason: 'terminated' });
  });

  it('takes along a child that dropped its mark and its parent, when it was seen before', async () => {
    const command = join(host.workspace, 'forking');
    const inner = 'env -i /usr/bin/env setsid sleep 600 & echo $! > daemon; sleep 4';
    writeFileSync(command, `#!/bin/sh\nsh -c '${inner}'\nsleep 0.5\n`);
    chmodSync(command, 0o700);
    const paths = prepareRun(host, [], { command });
    await startRunner(host, paths).ended;
    expect(exitOf(paths)).toMatchObject({ code: 0, strays: 1 });
    expect(identityOf(Number(readFileSync(join(host.workspace, 'daemon'), 'utf8')))).toBeUndefined();
  });
});
