import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { z } from 'zod';
import { ORCHESTRATOR_QUEUE, WORKFLOW } from '../../contract/names';
import { DevServer, temporalBinary } from '../helpers/dev-server';
import { LoggedWorker } from '../helpers/logged-worker';
import { Machine } from '../helpers/machine';
import { newKeyLine, writeKeys } from '../helpers/payload-keys';
import { filesWith, textsOf } from '../helpers/stored-text';
import { until } from '../helpers/until';

const CANARY = 'SECRET-CANARY';
const [K1, K2] = [newKeyLine('k1'), newKeyLine('k2')] as const;

let directory: string;
let server: DevServer;
let machine: Machine;
let worker: LoggedWorker;
const file = (name: string) => join(directory, name);
const database = () => file('server');
const keys = (name: string) => ({ PERDURE_PAYLOAD_KEYS: file(name) });
const logs: string[] = [];

/** A provider that says the canary everywhere, writes down its environment, and waits; it fails unless it may end well. */
function writeProvider(): string {
  const program = file('provider');
  const event = (json: string) => `echo '${json}'`;
  const lines = [
    '#!/bin/sh',
    `if [ "$1" != exec ]; then echo 'codex-cli 0.0.0'; exit 0; fi`,
    `env > '${file('provider.env')}'; cat > /dev/null`,
    `echo '${CANARY} on stderr' >&2`,
    event('{"type":"thread.started","thread_id":"01a227c2-a5ee-7f82-b3d2-3c14cbcdf610"}'),
    event(`{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"${CANARY} says the agent"}}`),
    `while [ ! -e '${file('release')}' ]; do sleep 0.1; done`,
    `if [ -e '${file('well')}' ]; then ${event('{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}')}; exit 0; fi`,
    event(`{"type":"turn.failed","error":{"message":"${CANARY} at the end"}}`),
    'exit 3',
  ];
  writeFileSync(program, `${lines.join('\n')}\n`);
  chmodSync(program, 0o755);
  return program;
}

function startWorker(name: string): Promise<LoggedWorker> {
  worker = new LoggedWorker(machine.environment(keys(name)));
  return until(() => worker.isReady && worker);
}

async function stopWorker(): Promise<void> {
  await worker.stop();
  await worker.ended;
  logs.push(worker.log);
}

const temporal = (...args: string[]) =>
  execFileSync(temporalBinary(), [...args, '--address', server.address, '-o', 'json'], { encoding: 'utf8' });

const runsSchema = z.array(z.object({ execution: z.object({ workflowId: z.string(), runId: z.string() }) }));

/** What the plain command line prints in a list, and what is in it when it is read as base64. */
function listed(): string[] {
  const list = temporal('workflow', 'list');
  return [list, ...textsOf(JSON.parse(list))];
}

/** All that the server tells of every run: to the plain command line, and as raw histories. */
async function everythingSaid(): Promise<string[]> {
  const said = [...listed(), temporal('schedule', 'list', '--really-long')];
  for (const { execution } of runsSchema.parse(JSON.parse(temporal('workflow', 'list')))) {
    const { workflowId, runId } = execution;
    const run = ['--workflow-id', workflowId, '--run-id', runId];
    const description = temporal('workflow', 'describe', ...run);
    const history = await server.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const raw: unknown = JSON.parse(historyToJSON(history));
    said.push(description, temporal('workflow', 'show', ...run), ...textsOf(JSON.parse(description)), ...textsOf(raw));
  }
  return said;
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-encryption-'));
  mkdirSync(database());
  server = await DevServer.start(join(database(), 'temporal.db'));
  writeKeys(file('k1'), [K1]);
  writeKeys(file('k2+k1'), [K2, K1]);
  writeKeys(file('other'), [newKeyLine('k1')]);
  machine = await Machine.make(server, { ...keys('k1'), PERDURE_CODEX_BIN: writeProvider() });
  await startWorker('k1');
});
afterAll(async () => {
  await worker.stop();
  await machine.dispose();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('with a key file', () => {
  it('no text of a task is in clear while it runs, and the owner of the key reads all of it (P75)', async () => {
    const about = ['--title', `${CANARY} title`, '--description', `${CANARY} description`, '--meta', `note=${CANARY}`];
    await machine.perdure('task', 'create', '--id', 'T-fails', ...about);
    expect(await machine.perdure('task', 'note', 'T-fails', `${CANARY} note`)).toMatchObject({ success: true });
    await machine.perdure('dispatch', 'T-fails');
    const heard = await until(async () => {
      const { activities } = (await machine.perdure('why', 'T-fails')) as { activities?: { heartbeat?: object }[] };
      return activities?.find(({ heartbeat }) => heartbeat !== undefined && 'threadId' in heartbeat);
    });
    expect(heard).toMatchObject({ heartbeat: { threadId: expect.stringMatching(/^01a227c2/) } });
    expect(await machine.perdure('dispatch', 'T-fails')).toMatchObject({
      success: false,
      code: 'TASK_NOT_DISPATCHABLE',
    });
    expect((await everythingSaid()).filter((text) => text.includes(CANARY))).toEqual([]);
    const { stdout } = await machine.read(['task', 'list']);
    expect(stdout).toContain(`${CANARY} title`);
  });

  it('nor in histories, lists, descriptions and the log once runs failed and succeeded (P75)', async () => {
    writeFileSync(file('release'), '');
    await until(async () => (await machine.status('T-fails')) === 'failed');
    const { task, attempts } = await machine.perdure('audit', 'T-fails').then(async (audit) => ({
      ...audit,
      task: (await machine.perdure('task', 'show', 'T-fails')).task,
    }));
    expect(JSON.stringify(task)).toContain(`${CANARY} at the end`);
    expect(attempts).toMatchObject([{ outcome: 'failed', exit: { code: 3 } }]);
    writeFileSync(file('well'), '');
    const check = `echo ${CANARY}; false`;
    const unmet = await machine.perdure('run', '--id', 'T-unmet', '--title', CANARY, '--accept', check);
    expect(unmet).toMatchObject({ success: false, code: 'CRITERIA_NOT_MET' });
    await machine.perdure('run', '--id', 'T-well', '--title', CANARY, '--no-complete');
    const result = ['--result', `${CANARY} result`];
    expect(await machine.perdure('task', 'complete', 'T-well', ...result)).toMatchObject({ success: true });
    await machine.perdure('task', 'reopen', 'T-well');
    await machine.perdure('task', 'cancel', 'T-well', '--summary', `${CANARY} summary`);
    await machine.perdure('task', 'update', 'T-unmet', '--title', `${CANARY} again`);
    expect(await machine.perdure('orphans')).toMatchObject({ success: true });
    const said = await everythingSaid();
    expect(said.filter((text) => text.includes(CANARY))).toEqual([]);
    expect(said.some((text) => text.includes('binary/encrypted'))).toBe(true);
    expect(filesWith(database(), CANARY)).toEqual([]);
    expect(worker.log).not.toContain(CANARY);
  });

  it('the key is in no history, log, environment of a provider or list of arguments (P75)', () => {
    const [, key = ''] = K1.split(' ');
    expect(filesWith(database(), key)).toEqual([]);
    expect(filesWith(database(), Buffer.from(key, 'base64').toString('latin1'))).toEqual([]);
    const environment = readFileSync(file('provider.env'), 'utf8');
    expect(environment).toContain('CODEX_HOME=');
    expect(environment).not.toContain('PERDURE_PAYLOAD_KEYS');
    expect(environment).not.toContain(key);
    expect(worker.log).not.toContain(key);
  });

  it('failures are told by their kind alone, those of workflow code as well (P75)', async () => {
    const client = await (await machine.session()).client();
    const start = { workflowId: 'task/default/T-bad', taskQueue: ORCHESTRATOR_QUEUE, args: [{ create: { title: 1 } }] };
    const handle = await client.workflow.start(WORKFLOW.task, start);
    const { cause } = (await handle.result().catch((error: unknown) => error)) as { cause: Error & { type?: string } };
    expect(cause.type).toBe('INVALID_ARGUMENT');
    expect(cause.message).not.toMatch(/^(Encoded failure)?$/);
    const { events } = await handle.fetchHistory();
    const { failure } = events?.at(-1)?.workflowExecutionFailedEventAttributes ?? {};
    expect(failure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
  });

  it('a process without the key says so and shows nothing (P75)', async () => {
    const env = { PERDURE_PAYLOAD_KEYS: undefined };
    for (const args of [
      ['task', 'show', 'T-fails'],
      ['task', 'list'],
      ['why', 'T-fails'],
      ['audit', 'T-fails'],
    ]) {
      expect(await machine.begin(args, { env })).toMatchObject({ code: 'PAYLOAD_KEY_MISSING', status: 1 });
    }
  });
});

describe('a worker that lacks a key', () => {
  it('refuses to start where it cannot read what is there, and says which key it lacks (P75)', async () => {
    await stopWorker();
    for (const env of [keys('other'), { PERDURE_PAYLOAD_KEYS: undefined }]) {
      const lacking = new LoggedWorker(machine.environment(env));
      expect(await lacking.ended).toBe(1);
      expect(lacking.log).toContain('PAYLOAD_KEY_MISSING');
      expect(lacking.log).toMatch(/the key \\"?k1|the key k1/);
    }
  });

  it('fails aloud what a newer key has encrypted, and a worker with both goes on with it (P75)', async () => {
    await startWorker('k1');
    const created = await machine.begin(['task', 'create', '--id', 'T-new', '--title', CANARY], { env: keys('k2+k1') });
    expect(created).toMatchObject({ success: true });
    await until(() => worker.log.includes('by the key "k2"; this process has k1'));
    const waiting = await machine.begin(['task', 'show', 'T-new'], { env: keys('k2+k1') });
    expect(waiting).toMatchObject({ task: { title: CANARY, status: 'pending' }, stale: true });
    await stopWorker();
    await startWorker('k2+k1');
    expect((await machine.begin(['task', 'show', 'T-new'], { env: keys('k2+k1') })).task?.status).toBe('pending');
    const old = await machine.begin(['task', 'show', 'T-fails'], { env: keys('k2+k1') });
    expect(JSON.stringify(old.task)).toContain(`${CANARY} note`);
    expect(logs.concat(worker.log).filter((log) => log.includes(CANARY))).toEqual([]);
    expect(filesWith(database(), CANARY)).toEqual([]);
  });
});

describe('without a key file', () => {
  it('a command of a home whose workers encrypt sends nothing (P75)', async () => {
    const env = { PERDURE_PAYLOAD_KEYS: undefined };
    const create = ['task', 'create', '--id', 'T-slip', '--title', 'SLIP-CANARY'];
    expect(await machine.begin(create, { env })).toMatchObject({ status: 1, code: 'PAYLOAD_KEY_MISSING' });
    expect(filesWith(database(), 'SLIP-CANARY')).toEqual([]);
    const { stdout } = await machine.read(['doctor'], env);
    expect(stdout).toMatch(/^FAIL payloads /m);
  });

  it('a task of another home is in clear as ever, and a worker with keys goes on with it (P75)', async () => {
    const env = { PERDURE_PAYLOAD_KEYS: undefined, PERDURE_HOME: file('another-home') };
    await machine.begin(['task', 'create', '--id', 'T-plain', '--title', 'PLAIN-CANARY'], { env });
    expect(filesWith(database(), 'PLAIN-CANARY')).not.toEqual([]);
    // The same search as above finds it, once the list has caught up.
    await until(() => listed().some((text) => text.includes('PLAIN-CANARY')));
    expect((await machine.begin(['task', 'show', 'T-plain'], { env: keys('k2+k1') })).task?.status).toBe('pending');
  });
});
