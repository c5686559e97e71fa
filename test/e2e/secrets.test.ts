import { createWriteStream, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { DevServer } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';

/** What must not be found again: by where it was planted. */
const CANARIES = {
  environment: 'canary-env-Zk3vQ9pLm2',
  notice: 'canary-notice-sk-Hq8rT5xWb1',
  message: 'canary-message-Jf6yN4dGs7',
  url: 'canary-url-Pc9wE2uKv8',
  error: 'canary-error-Xb5mA7oRt3',
  lines: 'canary-lines-Vn1zL6hYd4',
  raw: 'canary-raw-Gs2kD8jFw5',
} as const;
/** Variables of the worker; the provider gets the first one, and the names of all say what they are. */
const ENV = {
  DEPLOY_TOKEN: CANARIES.environment,
  SIGNING_KEY: `first line of the key\n${CANARIES.lines}\nlast line of the key`,
  DB_PASSWORD: CANARIES.message,
};
const THREAD = '01a00000-0000-7000-8000-000000000001';
const item = (content: object) => ({ type: 'item.completed', item: { id: 'i', ...content } });
const START = { type: 'thread.started', thread_id: THREAD };
const COMMAND = item({ type: 'command_execution', aggregated_output: CANARIES.raw, status: 'completed' });

let server: DevServer;
let machine: Machine;
let workerLog: string;
let program: string;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, { PERDURE_CODEX_BIN: process.execPath });
  program = machine.home.file('agent');
  workerLog = machine.home.file('worker.log');
  const env = { ...ENV, PERDURE_PROVIDER_ENV: 'DEPLOY_TOKEN', PERDURE_CODEX_BIN: program };
  const worker = await machine.startWorker('all', env);
  worker.stdout?.pipe(createWriteStream(workerLog));
});
afterAll(async () => {
  await machine.dispose();
  await server.stop();
});

/** Runs a task whose provider prints these events and this standard error, and ends with this code. */
async function runWith(taskId: string, events: object[], { stderr = '', code = 0 } = {}) {
  const printed = machine.home.file('repository', `.events-${taskId}`);
  writeFileSync(printed, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  writeFileSync(`${printed}.err`, stderr);
  writeFileSync(program, `#!/bin/sh\ncat '${printed}'\ncat '${printed}.err' >&2\nexit ${code}\n`, { mode: 0o755 });
  return machine.perdure('run', '--title', 'Keep it to yourself', '--id', taskId);
}

/** Everything that the server keeps of a task. */
async function historyOf(taskId: string): Promise<string> {
  const texts: string[] = [];
  for await (const { workflowId, runId } of server.client.workflow.list()) {
    if (!workflowId.endsWith(`/${taskId}`)) continue;
    const history = await server.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const json = historyToJSON(history);
    texts.push(
      json,
      ...[...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString()),
    );
  }
  return texts.join('\n');
}

/** Every file of the home but what the provider printed itself, and what this test made. */
function filesOf(directory: string): [string, string][] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    if (['repository', 'agent', 'stdout.jsonl', 'stderr.log'].includes(name)) return [];
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    return stat.isDirectory() ? filesOf(path) : [[path, readFileSync(path, 'latin1')]];
  });
}

async function findings(taskId: string): Promise<string[]> {
  const shown = await Promise.all(
    [
      ['task', 'show', taskId, '--json'],
      ['why', taskId, '--json'],
      ['audit', taskId, '--json'],
      ['task', 'show', taskId],
    ].map(async (args): Promise<[string, string]> => {
      const { stdout, stderr } = await machine.read(args);
      return [args.join(' '), stdout + stderr];
    }),
  );
  const places: [string, string][] = [...shown, ['history', await historyOf(taskId)], ...filesOf(machine.home.path)];
  return places.flatMap(([place, text]) =>
    Object.entries(CANARIES).flatMap(([name, canary]) => (text.includes(canary) ? [`${name} in ${place}`] : [])),
  );
}

describe('secrets that a provider prints', () => {
  it('are not in history, answers, files or the log of a run that goes well (GU-10, SE-4, test 20)', async () => {
    const events = [
      START,
      COMMAND,
      { type: 'error', message: `lost https://user:${CANARIES.url}@example.org/\nsk-${CANARIES.notice}` },
      item({ type: 'error', message: `Authorization: Bearer ${CANARIES.error}` }),
      item({ type: 'agent_message', text: `All is done with ${CANARIES.message} and ${CANARIES.environment}.` }),
      { type: 'turn.completed', usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } },
    ];
    const answer = await runWith('S-good', events);
    expect(answer).toMatchObject({ success: true, observation: 'All is done with [redacted] and [redacted].' });
    expect(JSON.stringify(answer)).not.toMatch(/canary/);
    expect(await findings('S-good')).toEqual([]);
  });

  it('are not there either when the whole message is kept beside the record', async () => {
    const text = `${CANARIES.environment} ${'x'.repeat(100_000)} ${CANARIES.message}`;
    const done = { type: 'turn.completed', usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 1 } };
    await runWith('S-long', [START, item({ type: 'agent_message', text }), done]);
    expect(await findings('S-long')).toEqual([]);
  });

  it.each([
    ['S-failed', [START, { type: 'turn.failed', error: { message: `no access: ${CANARIES.environment}` } }], ''],
    ['S-stderr', [START], `Error: cannot sign with ${ENV.SIGNING_KEY}`],
    ['S-silent', [], `fatal: https://me:${CANARIES.url}@example.org/ refused "password": "${CANARIES.error}"`],
  ])('are not there when a run fails: %s', async (taskId, events, stderr) => {
    const answer = await runWith(taskId, events, { stderr, code: 1 });
    expect(answer).toMatchObject({ success: false, taskStatus: 'failed' });
    expect(JSON.stringify(answer)).not.toMatch(/canary/);
    expect(await findings(taskId)).toEqual([]);
  });

  it('would be found: what the provider printed is in its own log', async () => {
    const { stdout } = await machine.read(['logs', 'S-good', '--raw']);
    for (const canary of [CANARIES.raw, CANARIES.url, CANARIES.environment]) expect(stdout).toContain(canary);
  });
});
