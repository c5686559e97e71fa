import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { findCodex } from '../../activities/provider/codex-binary';
import type { DevServer } from '../helpers/dev-server';
import { closeCodexMachine, openCodexMachine, runScript } from '../helpers/codex-machine';
import type { Machine } from '../helpers/machine';
import { markedWith } from '../helpers/outside-view';
import { end } from '../helpers/process';
import type { ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

const codex = findCodex({ PATH: process.env['PATH'] });

let server: DevServer;
let endpoint: ScriptedEndpoint;
let machine: Machine;
let worker: ChildProcess;
let codexHome: string;

beforeAll(async () => {
  ({ server, machine, endpoint, codexHome, worker } = await openCodexMachine());
});
afterAll(() => closeCodexMachine({ server, machine, endpoint }));

const run = (id: string, script: string[], ...options: string[]) => runScript(machine, id, [script, ...options]);

async function restartWorker(env: NodeJS.ProcessEnv = {}, cwd?: string): Promise<void> {
  await end(worker, 'SIGTERM');
  worker = await machine.startWorker('all', { CODEX_HOME: codexHome, ...env }, cwd);
}

/** A run that goes on until the file that it waits for is there; gives the way on once it works. */
async function heldRun(id: string, begin: (script: string[]) => Promise<unknown>) {
  const file = machine.home.file(`go-on-${id}`);
  const known = machine.runs();
  const options = `while [ ! -e '${file}' ]; do sleep 0.05; done`;
  const answer = begin([`@shell ${options}`, '@say went on']);
  const attemptId = await machine.nextRun(known);
  await until(() => markedWith(attemptId).some(({ command }) => command.includes(file)));
  return {
    attemptId,
    letGoOn: () => {
      mkdirSync(file);
      return answer;
    },
  };
}

const again = (id: string) => async (script: string[]) => {
  await machine.perdure('task', 'note', id, script.join('\n'));
  return machine.perdure('dispatch', id, '--wait', '--sandbox', 'danger-full-access');
};

/** Where the program of an attempt reads from, and where it stands. */
function surroundings(attemptId: string) {
  const seen = markedWith(attemptId).find(({ command, isLeader }) => isLeader && command.includes(' exec '));
  const pid = String(seen?.pid);
  return { stdin: readlinkSync(`/proc/${pid}/fd/0`), cwd: readlinkSync(`/proc/${pid}/cwd`) };
}

describe('the real Codex', () => {
  it('reads nothing of its worker’s, whose stdin nobody ends and which was started in / (P01, P10)', async () => {
    const full = ['--sandbox', 'danger-full-access', '--accept', 'test -e resumed'];
    const first = await heldRun('T-1', (script) => run('T-1', script, ...full));
    const own = readlinkSync(`/proc/${String(worker.pid)}/fd/0`);
    expect(surroundings(first.attemptId).stdin).not.toBe(own);
    await first.letGoOn();
    const [attempt] = await machine.attempts('T-1');
    const workspace = attempt?.workspacePath ?? '';

    await restartWorker({}, '/');
    expect(readlinkSync(`/proc/${String(worker.pid)}/cwd`)).toBe('/');
    rmSync(machine.home.file('go-on-T-1'), { recursive: true });
    const second = await heldRun('T-1', again('T-1'));
    const seen = surroundings(second.attemptId);
    expect(seen.cwd).toBe(workspace);
    expect(seen.stdin).not.toBe(readlinkSync(`/proc/${String(worker.pid)}/fd/0`));
    expect(await second.letGoOn()).toMatchObject({ success: true, threadId: attempt?.threadId });
    await restartWorker();
  });

  it.each([
    '--help',
    '-c model=x',
    '-',
    '; touch PWNED\n$(touch PWNED) `touch PWNED` "q" %PATH% &',
    '漢'.repeat(1_000),
  ])('is told a note as it is, and never as an option, in a resume: %#. (P23, P118)', async (note) => {
    const id = `T-23-${String(machine.runs().length)}`;
    await run(id, ['@say begun'], '--accept', 'test -e never');
    const { workspacePath = '' } = (await machine.attempts(id))[0] ?? {};
    await machine.read(['task', 'note', id, '--', note]);
    const answer = await machine.perdure('dispatch', id, '--wait');
    expect(answer).toMatchObject({ success: true, observation: 'done' });
    expect(endpoint.requests.at(-1)?.userMessages.at(-1)).toContain(note);
    expect(existsSync(join(workspacePath ?? '', 'PWNED'))).toBe(false);
    expect((await machine.attempts(id)).map(({ spawns }) => spawns)).toEqual([1, 1]);
  });

  it('refuses a text with NUL, and one that no record can hold, before anything is stored (P23)', async () => {
    for (const text of ['a\0b', '漢'.repeat(500_000)]) {
      const refused = await machine.begin(['task', 'create', '--title', 'T', '--id', 'T-nul', '--description', '-'], {
        stdin: text,
      });
      expect(refused).toMatchObject({ success: false, code: 'INVALID_ARGUMENT' });
    }
    expect(await machine.perdure('task', 'show', 'T-nul')).toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it('works in a place, with a model and under a title that a shell would take apart (P118)', async () => {
    const odd = machine.home.file(`re po; $(touch PWNED) 'a' "b" & \`touch PWNED\` %PATH%`);
    mkdirSync(odd);
    const author = ['-c', 'user.name=tester', '-c', 'user.email=tester@localhost'];
    const git = (...args: string[]) => execFileSync('git', ['-C', odd, ...author, ...args]);
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
    const title = '; touch PWNED $(touch PWNED) `touch PWNED`';
    const options = ['--title', title, '--id', 'T-118', '--workspace', odd, '--model', '; touch PWNED "x"'];
    const answer = await machine.begin(['run', ...options, '--description', '-'], { stdin: '@shell pwd\n@say there' });
    expect(answer).toMatchObject({ success: true, observation: 'there' });
    const [attempt] = await machine.attempts('T-118');
    for (const place of [odd, attempt?.workspacePath ?? '', machine.repository, machine.home.path]) {
      expect(readdirSync(place)).not.toContain('PWNED');
    }
  });

  it('is not disturbed when its program is replaced under it, and is recorded as what it was (P24)', async () => {
    const link = machine.home.file('codex-link');
    symlinkSync(codex, link);
    await restartWorker({ PERDURE_CODEX_BIN: link });
    const full = ['--sandbox', 'danger-full-access', '--accept', 'test -e never'];
    const live = await heldRun('T-24', (script) => run('T-24', script, ...full));
    rmSync(link);
    machine.writeAgent('exit 3');
    symlinkSync(machine.agent, link);
    await live.letGoOn();
    expect(await machine.perdure('dispatch', 'T-24', '--wait', ...full.slice(0, 2))).toMatchObject({ success: false });
    const version = execFileSync(codex, ['--version'], { encoding: 'utf8' }).trim();
    expect(await machine.attempts('T-24')).toMatchObject([
      { outcome: 'completed', cliVersion: version },
      { code: 'provider_exited', cliVersion: null, spawns: 1 },
    ]);
  });

  it('whose binary is of no package is recorded by what it says of itself in its thread (P24)', async () => {
    const copy = machine.home.file('standalone-codex');
    copyFileSync(codex, copy, constants.COPYFILE_FICLONE);
    await restartWorker({ PERDURE_CODEX_BIN: copy });
    expect(await run('T-24b', ['@say alone'])).toMatchObject({ success: true });
    const version = execFileSync(codex, ['--version'], { encoding: 'utf8' }).trim();
    expect(await machine.attempts('T-24b')).toMatchObject([{ cliVersion: version }]);
  });
});
