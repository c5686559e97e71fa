import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { childrenOf, LocalHome } from '../helpers/local-home';
import { until } from '../helpers/until';

const main = join(__dirname, '..', '..', 'dist', 'cli', 'main.js');
const answerSchema = z.looseObject({
  success: z.boolean(),
  task: z.unknown().optional(),
  attempts: z.unknown().optional(),
  attention: z.string().optional(),
  executionResultId: z.string().optional(),
});

/** Plays one run: a thread, a message, an end; it waits in between while a file says so. */
const STUB = (hold: string) => `#!/bin/sh
case "$1" in --version) echo "codex-cli 0.171.0"; exit 0;; sandbox) exit 0;; esac
cat > /dev/null
thread=01a00000-0000-7000-8000-000000000001
echo '{"type":"thread.started","thread_id":"'$thread'"}'
echo '{"type":"turn.started"}'
while [ -f '${hold}' ]; do sleep 0.1; done
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"ALL \\u001b[2JDONE"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'
`;

let home: LocalHome;
let up: number;
let env: NodeJS.ProcessEnv;
let repository: string;
let hold: string;

beforeAll(async () => {
  home = await LocalHome.make();
  hold = home.file('hold');
  repository = home.file('repo');
  mkdirSync(repository);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=n', '-c', 'user.email=e', ...args]);
  git('init', '-q');
  git('commit', '-q', '--allow-empty', '-m', 'first');
  writeFileSync(home.file('codex'), STUB(hold));
  chmodSync(home.file('codex'), 0o755);
  const { TEMPORAL_ADDRESS: _none, ...inherited } = process.env;
  env = { ...inherited, PERDURE_HOME: home.path, PERDURE_CODEX_BIN: home.file('codex') };
  up = (await home.start(['up', '--port', '0', '--ui-port', '0'], { PERDURE_CODEX_BIN: home.file('codex') })).ready.pid;
});
afterAll(async () => {
  await home.remove();
});
afterEach(() => {
  rmSync(hold, { force: true });
});

function start(args: string[]) {
  const child = spawn(process.execPath, [main, ...args], { env, cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] });
  const done = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  return { child, done: done.then(([[status], stdout, stderr]) => ({ status: status as number, stdout, stderr })) };
}

const perdure = (...args: string[]) => start(args).done;

async function json(...args: string[]) {
  const { status, stdout } = await perdure(...args, '--json');
  return { exit: status, ...answerSchema.parse(JSON.parse(stdout)) };
}

const running = (id: string) => until(async () => ((await json('why', id)).attention === 'running' ? true : undefined));

describe('perdure task', () => {
  it('creates at rest, in the repository of the current directory, and once (TR1, TR2)', async () => {
    const created = await json('task', 'create', '--title', 'first', '--id', 'T-1', '--meta', 'projectId=p');
    expect(created).toMatchObject({
      exit: 0,
      task: { id: 'T-1', status: 'pending', metadata: { projectId: 'p' }, workspace: { path: repository } },
    });
    expect((await json('task', 'show', 'T-1')).task).toEqual(created.task);
    expect(await json('task', 'create', '--title', 'again', '--id', 'T-1')).toMatchObject({
      exit: 1,
      code: 'TASK_EXISTS',
    });
  });

  it('lists one line a task, with what steers a terminal made visible (P111)', async () => {
    await json(
      'task',
      'create',
      '--title',
      'a\u001b[31m\nT-9  completed forged',
      '--id',
      'T-2',
      '--meta',
      "projectId=it's",
    );
    const listed = await until(async () => {
      const { stdout } = await perdure('task', 'list', '--project', "it's");
      return stdout.includes('T-2') ? stdout : undefined;
    });
    expect(listed.trimEnd().split('\n')).toHaveLength(2);
    expect(listed).toContain('a\\u{1b}[31m\\u{a}T-9  completed forged');
  });

  it('prints the query of its filters alone, and always has it in the document', async () => {
    const query =
      "ExecutionStatus = 'Running' AND WorkflowType IN ('task', 'dispatchTask', 'reopenTask')" +
      " AND PerdureTenant = 'default' AND PerdureStatus = 'pending' AND PerdureThread = 't'";
    const filters = ['--status', 'pending', '--thread', 't'];
    expect(await perdure('task', 'list', ...filters, '--query')).toEqual({
      status: 0,
      stdout: `${query}\n`,
      stderr: '',
    });
    expect(await json('task', 'list', '--query', ...filters)).toMatchObject({ exit: 0, query, tasks: [] });
    expect(await json('task', 'list', ...filters)).toMatchObject({ exit: 0, query, tasks: [] });
    const more = ['--query', "PerdureHost = 'h'"];
    expect(await json('task', 'list', ...filters, ...more)).toMatchObject({
      query: `${query} AND (PerdureHost = 'h')`,
    });
  });

  it('shows a task with the tasks below it', async () => {
    await json('task', 'create', '--title', 'part', '--id', 'T-3', '--parent', 'T-1');
    const shown = await until(async () => {
      const { stdout } = await perdure('task', 'tree', 'T-1');
      return stdout.includes('T-3') ? stdout : undefined;
    });
    expect(shown).toBe('T-1  pending  first\n  T-3  pending  part\n');
    expect(await json('task', 'tree', 'T-1')).toMatchObject({
      exit: 0,
      tree: { id: 'T-1', children: [{ id: 'T-3', title: 'part', status: 'pending', children: [] }] },
    });
  });

  it('warns of changes that are in no commit, for people on stderr', async () => {
    writeFileSync(join(repository, 'new'), '');
    const warning = `uncommitted changes in ${repository} are not in the task's worktree`;
    const { stderr } = await perdure('task', 'create', '--title', 'dirty');
    expect(stderr).toBe(`warning: ${warning}\n`);
    expect(await json('task', 'create', '--title', 'dirty')).toMatchObject({ exit: 0, warnings: [warning] });
    rmSync(join(repository, 'new'));
  });

  it('lists nothing for a filter that tries to leave its tenant (GN1)', async () => {
    const listed = await json('task', 'list', '--agent', "x' OR PerdureTenant='default");
    expect(listed).toMatchObject({ exit: 0, tasks: [] });
  });

  it('answers exit code 4 for a task that is not there', async () => {
    for (const args of [['task', 'show'], ['dispatch'], ['stop'], ['watch'], ['why'], ['audit'], ['logs']]) {
      expect(await json(...args, 'T-none')).toMatchObject({ exit: 4, code: 'TASK_NOT_FOUND' });
    }
  });
});

describe('perdure run', () => {
  it('completes a task whose criteria hold, and shows what the agent said without its escapes', async () => {
    const { status, stdout, stderr } = await perdure('run', '--title', 'good', '--id', 'R-1', '--accept', 'true');
    expect(status).toBe(0);
    expect(stderr).not.toContain('next:');
    const [, work = ''] = /^work +(.+)$/m.exec(stdout) ?? [];
    expect(existsSync(work)).toBe(true);
    expect((await perdure('task', 'show', 'R-1')).stdout).toMatch(new RegExp(`^work +${work}$`, 'm'));
    expect(await json('task', 'show', 'R-1')).toMatchObject({ workspacePath: work });
    expect((await perdure('audit', 'R-1')).stdout).toContain(`\n  work ${work}\n`);
    expect(stdout).toMatch(/^ALL \\u\{1b\}\[2JDONE\n/);
    expect(stdout).toMatch(/status +completed/);
    expect(await json('audit', 'R-1')).toMatchObject({
      attempts: [{ number: 1, mode: 'start', spawns: 1, outcome: 'completed', exit: { code: 0 } }],
      receipts: [{ sequence: expect.any(Number) as number }],
    });
    expect((await perdure('logs', 'R-1')).stdout).toContain('agent_message:\n  ALL \\u{1b}[2JDONE\n');
  });

  it('fails a task whose criteria do not hold', async () => {
    const settled = await json('run', '--title', 'bad', '--id', 'R-2', '--accept', 'false');
    expect(settled).toMatchObject({ exit: 1, code: 'CRITERIA_NOT_MET', taskStatus: 'failed', retryable: true });
  });

  it('leaves the outcome to a person with --no-complete (SR6)', async () => {
    const settled = await json('run', '--title', 'open', '--id', 'R-3', '--no-complete');
    expect(settled).toMatchObject({ exit: 0, taskStatus: 'in_progress' });
    const result = settled.executionResultId ?? '';
    const completed = await json('task', 'complete', 'R-3', '--result', 'yes', '--execution-result', result);
    expect(completed).toMatchObject({ exit: 0 });
    expect(await json('task', 'complete', 'R-3', '--result', 'no')).toMatchObject({
      exit: 1,
      code: 'TASK_STATUS_CONFLICT',
    });
  });

  it('goes on when the caller is interrupted, and can be watched and stopped', async () => {
    writeFileSync(hold, '');
    const run = start(['run', '--title', 'long', '--id', 'R-4']);
    await running('R-4');
    run.child.kill('SIGINT');
    expect(await run.done).toMatchObject({
      status: 130,
      stderr: expect.stringContaining('The task goes on') as string,
    });

    const watch = perdure('watch', 'R-4', '--json');
    expect(await json('stop', 'R-4')).toMatchObject({ exit: 0, stopped: true, taskStatus: 'interrupted' });
    const seen = (await watch).stdout.trim().split('\n');
    expect(JSON.parse(seen.at(-1) ?? '')).toMatchObject({ success: true, status: 'interrupted', phase: 'task' });
  });

  it('stores nothing when Codex is not to be found', async () => {
    env = { ...env, PERDURE_CODEX_BIN: '/nothing/codex' };
    const refused = await json('run', '--title', 'no codex', '--id', 'R-5');
    env = { ...env, PERDURE_CODEX_BIN: home.file('codex') };
    expect(refused).toMatchObject({ exit: 1, code: 'executable_unavailable' });
    expect(await json('task', 'show', 'R-5')).toMatchObject({ exit: 4 });
  });
});

describe('perdure dispatch', () => {
  it('answers at once, and waits for the settled result with --wait', async () => {
    await json('task', 'create', '--title', 'd', '--id', 'D-1');
    writeFileSync(hold, '');
    expect(await json('dispatch', 'D-1')).toMatchObject({ exit: 0, taskId: 'D-1', mode: 'start' });
    expect(await json('dispatch', 'D-1')).toMatchObject({ code: 'TASK_NOT_DISPATCHABLE', retryable: true });
    const threadId = '01a00000-0000-7000-8000-000000000001';
    await until(async () =>
      (await perdure('why', 'D-1')).stdout.includes(`- thread ${threadId}\n`) ? true : undefined,
    );
    expect((await json('audit', 'D-1')).attempts).toMatchObject([
      { threadId, workspacePath: expect.any(String) as string },
    ]);
    expect(await json('stop', 'D-1')).toMatchObject({ exit: 0 });
    rmSync(hold);
    const settled = await json('dispatch', 'D-1', '--wait');
    expect(settled).toMatchObject({ exit: 0, taskStatus: 'in_progress', observation: 'ALL \u001b[2JDONE' });
    const { stderr } = await perdure('dispatch', 'D-1', '--wait');
    expect(stderr).toMatch(/^next: perdure task complete D-1 --result \.\.\. , or perdure task fail D-1/m);
  });

  it('says that it does not wait for what a project runs in its turn', async () => {
    await json('task', 'create', '--title', 'm', '--id', 'M-1', '--meta', 'projectId=m');
    expect(await json('project', 'pause', 'm')).toMatchObject({ exit: 0 });
    const unwaited = expect.stringContaining('perdure watch M-1') as string;
    expect(await json('dispatch', 'M-1', '--wait')).toMatchObject({ exit: 0, managed: true, warnings: [unwaited] });
    expect(await perdure('watch', 'M-1')).toMatchObject({
      ...{ status: 0, stderr: expect.stringMatching(/^next: .+/m) as string },
    });
  });

  it('waits for the run that follows a reopening (DS2)', async () => {
    await json('task', 'cancel', 'D-1');
    expect(await json('dispatch', 'D-1', '--wait')).toMatchObject({ exit: 0, taskStatus: 'in_progress' });
    expect((await json('audit', 'D-1')).attempts).toHaveLength(4);
  });
});

describe('a worker that is silent', () => {
  it('leaves the last known record to be read in under 10 s, marked as stale (P81)', async () => {
    const worker = await until(() => childrenOf(up).find((child) => child !== home.server()?.pid));
    process.kill(worker, 'SIGSTOP');
    try {
      const began = performance.now();
      const [shown, why] = await Promise.all([json('task', 'show', 'T-1'), json('why', 'T-1')]);
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(shown).toMatchObject({ exit: 1, success: true, stale: true, task: { id: 'T-1', status: 'pending' } });
      expect(why).toMatchObject({ exit: 1, stale: true });
    } finally {
      process.kill(worker, 'SIGCONT');
    }
  });
});

describe('perdure doctor', () => {
  it('finds everything in order, and lists the defaults', async () => {
    const diagnosis = await json('doctor');
    expect(diagnosis).toMatchObject({ exit: 0, success: true, defaults: { policy: { sandbox: 'workspace-write' } } });
    expect(existsSync(home.file('host.json'))).toBe(true);
  });
});
