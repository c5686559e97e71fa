import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { openStore } from '../../activities/receipts/store';
import { DevServer, temporalBinary } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';
import { end } from '../helpers/process';
import { AGENT } from '../helpers/provider-host';
import { root } from '../helpers/root';
import { until } from '../helpers/until';
import { answer, isSigned, WebhookServer } from '../helpers/webhook-server';

const run = promisify(execFile);
const CANARY = 'canary-5f1d2c7e-never-to-be-seen';
const receiptSchema = z.looseObject({ receiptId: z.string(), sequence: z.number(), state: z.string() });
const listSchema = z.looseObject({ success: z.boolean(), receipts: z.array(receiptSchema).default([]) });

describe('receipts of a machine with a webhook', () => {
  let server: DevServer;
  let machine: Machine;
  let webhook: WebhookServer;
  let worker: ChildProcess;
  const said: string[] = [];

  const configure = () => {
    const receipts = { webhook: `${webhook.url}/path-${CANARY}`, secretFile: 'webhook.secret' };
    writeFileSync(machine.home.file('config.json'), JSON.stringify({ sweep: { intervalMs: 0 }, receipts }));
    writeFileSync(machine.home.file('webhook.secret'), `${CANARY}\n`, { mode: 0o600 });
  };
  /** With its log in a file. */
  const startWorker = async () => {
    worker = spawn(process.execPath, [join(root, 'bin', 'perdure.js'), 'worker', '--role', 'all', '--json'], {
      env: machine.environment({ PERDURE_CODEX_BIN: AGENT }),
      stdio: ['ignore', 'pipe', openSync(machine.home.file('worker.log'), 'a')],
    });
    if (worker.stdout !== null) await once(worker.stdout, 'data');
  };
  const list = async (...args: string[]) =>
    listSchema.parse(await machine.perdure('receipts', 'list', ...args)).receipts;
  const settle = async (taskId: string) => {
    const { repository: path } = machine;
    await machine.begin(['run', '--id', taskId, '--title', taskId, '--workspace', path, '--time-limit', '60s']);
    return `result:${(await machine.attempts(taskId))[0]?.attemptId ?? ''}`;
  };
  const histories = async (): Promise<string> => {
    const options = ['--address', server.address, '--output', 'json'];
    const { stdout } = await run(temporalBinary(), ['workflow', 'list', ...options]);
    const runs = z
      .array(z.looseObject({ execution: z.looseObject({ workflowId: z.string(), runId: z.string() }) }))
      .parse(JSON.parse(stdout));
    const shown = runs.map(async ({ execution: { workflowId, runId } }) => {
      const show = ['workflow', 'show', '--workflow-id', workflowId, '--run-id', runId, ...options];
      return (await run(temporalBinary(), show, { maxBuffer: 64 * 1024 * 1024 })).stdout;
    });
    return (await Promise.all(shown)).join('\n');
  };

  beforeAll(async () => {
    server = await DevServer.start();
    machine = await Machine.make(server);
    webhook = await WebhookServer.start();
  });
  afterAll(async () => {
    await end(worker);
    await machine.dispose();
    await webhook.stop();
    await server.stop();
  });

  it('are sent once a webhook is there, those from before included, in the order of the queue', async () => {
    await startWorker();
    const before = await settle('T-before');
    expect(await list()).toMatchObject([{ receiptId: before, state: 'queued' }]);
    await end(worker, 'SIGTERM');
    configure();
    await startWorker();
    await until(async () => (await list('--state', 'delivered')).length === 1);
    expect(webhook.keys()).toEqual([before]);
  });

  it('come twice under one key when the orchestrator is killed between delivery and mark (RQ-13)', async () => {
    webhook.requests.splice(0);
    webhook.play(async (response) => {
      // It has the receipt, and the worker that would mark it is gone.
      await end(worker);
      response.writeHead(204).end();
    }, answer(204));
    const settling = settle('T-killed').catch(() => '');
    await until(() => webhook.requests.length === 1);
    await startWorker();
    await until(() => webhook.requests.length === 2);
    const receiptId = await settling;
    await until(async () => (await list('--task', 'T-killed', '--state', 'delivered')).length === 1);
    expect(webhook.keys()).toEqual([receiptId, receiptId]);
    expect(new Set(webhook.requests.map(({ body }) => body)).size).toBe(1);
    expect(webhook.requests.every((request) => isSigned(request, CANARY))).toBe(true);
  });

  it('are failed when the webhook refuses them, and sent again when asked for', async () => {
    webhook.play(answer(422));
    const receiptId = await settle('T-refused');
    await until(async () => (await list('--state', 'failed')).length === 1);
    const { stdout } = await machine.read(['receipts', 'list', '--state', 'failed']);
    expect(stdout).toContain('the webhook answered 422');
    webhook.play(answer(200));
    expect(await machine.perdure('receipts', 'deliver', receiptId)).toMatchObject({ success: true, resent: 1 });
    await until(async () => (await list('--task', 'T-refused', '--state', 'delivered')).length === 1);
  });

  it('are listed behind a sequence and acknowledged by the command line', async () => {
    const [first, second] = await list('--limit', '2');
    expect(await list('--after', String(first?.sequence), '--limit', '1')).toEqual([second]);
    const ids = [first, second].map((receipt) => receipt?.receiptId ?? '');
    expect(await machine.perdure('receipts', 'ack', ...ids)).toMatchObject({ status: 0, success: true });
    expect(await machine.perdure('receipts', 'ack', ...ids)).toMatchObject({ status: 0, success: true });
    expect((await list('--state', 'acknowledged')).map(({ receiptId }) => receiptId)).toEqual(ids);
    expect(await machine.perdure('receipts', 'ack', 'no-such')).toMatchObject({ status: 4, code: 'receipt_unknown' });
    expect(await machine.perdure('receipts', 'list', '--limit', '1001')).toMatchObject({ status: 2, code: 'USAGE' });
  });

  it('take the output of their attempts along, 30 days after they were acknowledged (DW-17)', async () => {
    const [receiptId] = (await list('--state', 'acknowledged')).map((receipt) => receipt.receiptId);
    const attemptId = receiptId?.split(':')[1] ?? '';
    const left = () => readdirSync(machine.home.file('runs', attemptId));
    expect(left()).toContain('stdout.jsonl');
    await end(worker, 'SIGTERM');
    const store = await openStore(machine.home.file('receipts.db'));
    const acknowledged_at = new Date(Date.now() - 31 * 86_400_000).toISOString();
    await store.updateTable('receipts').set({ acknowledged_at }).where('attempt_id', '=', attemptId).execute();
    await store.destroy();
    await startWorker();
    await until(() => !left().includes('stdout.jsonl'));
    expect(left()).toEqual(expect.arrayContaining(['claim', 'exit.json', 'removed']));
    expect(await machine.perdure('logs', 'T-before')).toMatchObject({ success: false, code: 'LOG_REMOVED' });
    expect((await list()).map((receipt) => receipt.receiptId)).not.toContain(receiptId);
  });

  it('have a secret that only its owner may read: doctor says so, and nothing is sent until then', async () => {
    chmodSync(machine.home.file('webhook.secret'), 0o644);
    const { status, stdout } = await machine.read(['doctor']);
    expect(status).toBe(1);
    expect(stdout).toMatch(/FAIL receipt webhook .*mode 0644/);
    webhook.requests.splice(0);
    await settle('T-open-secret');
    const handle = server.client.workflow.getHandle(
      (await list('--task', 'T-open-secret')).map(({ receiptId }) => `receipt/${receiptId}`)[0] ?? '',
    );
    await until(async () => {
      const { raw } = await handle.describe();
      return raw.pendingActivities?.[0]?.lastFailure?.message === "the webhook's secret cannot be read";
    });
    expect(webhook.requests).toEqual([]);
    chmodSync(machine.home.file('webhook.secret'), 0o600);
    await until(async () => (await list('--task', 'T-open-secret', '--state', 'delivered')).length === 1);
  });

  it('show the secret and the path of the URL nowhere: history, store, log, doctor, lists, environment', async () => {
    const doctor = await machine.read(['doctor']);
    const doctorJson = await machine.perdure('doctor');
    expect(doctor.stdout).toContain(`receipt webhook`);
    expect(doctorJson).toMatchObject({ defaults: { receipts: { secretFile: 'webhook.secret' } } });
    said.push(doctor.stdout, doctor.stderr, JSON.stringify(doctorJson), JSON.stringify(await list()));
    said.push((await machine.read(['why', 'T-refused'])).stdout, (await machine.read(['audit', 'T-refused'])).stdout);
    said.push(await histories());
    for (const name of ['receipts.db', 'receipts.db-wal', 'worker.log'])
      said.push(readFileSync(machine.home.file(name), 'latin1'));
    for (const name of ['environ', 'cmdline']) said.push(readFileSync(`/proc/${String(worker.pid)}/${name}`, 'latin1'));
    const runs = readdirSync(machine.home.file('runs'), { recursive: true, withFileTypes: true });
    for (const entry of runs) if (entry.isFile()) said.push(readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    expect(said.filter((text) => text.includes(CANARY))).toEqual([]);
    expect(readFileSync(machine.home.file('worker.log'), 'utf8')).toContain("the webhook's secret cannot be read");
    // The look itself is no blind one: the receipt ids are in what was looked at.
    expect(said.filter((text) => text.includes('result:')).length).toBeGreaterThan(2);
  });
});
