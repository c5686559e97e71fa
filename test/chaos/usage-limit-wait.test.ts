import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTask, dispatchTask, listTasks } from '../../client/index';
import { valueOf } from '../../client/outcome';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { end } from '../helpers/process';
import { until } from '../helpers/server-process';

const TASKS = 20;
/** How long the account of this test is at its limit, in seconds. */
const LIMIT_S = 60;
const env = { PERDURE_CODEX_BIN: process.execPath };

let folder: string;
let server: DevServer;
let machine: Machine;
let worker: ChildProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-limit-'));
  server = await DevServer.start(join(folder, 'temporal.db'));
  machine = await Machine.make(server, env);
  worker = await machine.startWorker('all', { PERDURE_CODEX_BIN: machine.agent });
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** An agent that is refused by its account until a moment (epoch seconds), and writes down when it was started. */
function writeLimitedAgent(resetsAt: number, starts: string): void {
  machine.writeAgent(
    `[ "$1" = --version ] && echo codex-cli 0.0.0 && exit 0`,
    'id=$(cat /proc/sys/kernel/random/uuid)',
    `for word; do case $word in ????????-????-????-????-????????????) id=$word;; esac; done`,
    `now=$(date +%s); echo $now >> '${starts}'`,
    `echo "{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"$id\\"}"`,
    `if [ $now -lt ${String(resetsAt)} ]; then`,
    `  echo '{"type":"error","message":"usage_limit_reached resets_at: ${String(resetsAt)}"}'`,
    `  echo '{"type":"turn.failed","error":{"message":"usage_limit_reached resets_at: ${String(resetsAt)}"}}'`,
    '  exit 1',
    'fi',
    `echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'`,
  );
}

describe('an account at its usage limit', () => {
  it('is waited for by twenty tasks, over the end of the worker and of the server, and not tried before (P26)', async () => {
    const session = await machine.session();
    const waiting = async () => valueOf(await listTasks(session, { attention: 'waiting' })).tasks.length;
    const ids = Array.from({ length: TASKS }, (_, n) => `T-26-${String(n)}`);
    const workspace = machine.repository;
    for (const id of ids) valueOf(await createTask(session, { title: id, id, workspace }));
    const starts = machine.home.file('starts');
    const resetsAt = Math.floor(Date.now() / 1_000) + LIMIT_S;
    writeLimitedAgent(resetsAt, starts);
    valueOf(await dispatchTask(session, { taskId: 'T-26-0' }));
    await until(async () => (await waiting()) === 1);
    for (const taskId of ids.slice(1)) valueOf(await dispatchTask(session, { taskId }));
    await until(async () => (await waiting()) === TASKS);
    await end(worker);
    await server.kill();
    await server.restart();
    worker = await machine.startWorker('all', { PERDURE_CODEX_BIN: machine.agent });
    const why = JSON.stringify(await machine.perdure('why', 'T-26-7'));
    expect(why).toContain(new Date(resetsAt * 1_000).toISOString().slice(0, 15));

    await until(async () => valueOf(await listTasks(session, { attention: 'outcome' })).tasks.length === TASKS);
    const [first, ...later] = readFileSync(starts, 'utf8').trim().split('\n').map(Number);
    expect(first).toBeLessThan(resetsAt);
    expect(later.filter((at) => at < resetsAt)).toEqual([]);
    expect(later).toHaveLength(TASKS);
    expect(Math.max(...later)).toBeGreaterThan(Math.min(...later));
  });
});
