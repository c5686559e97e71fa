import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer } from '../helpers/dev-server';
import { GrpcProxy } from '../helpers/grpc-proxy';
import { Machine } from '../helpers/machine';
import { until } from '../helpers/until';

const CUTS = 10;
const TASK = 'T-1';

const stateSchema = z.looseObject({
  status: z.string(),
  phase: z.string(),
  progress: z.looseObject({ offset: z.number() }).optional(),
});

let server: DevServer;
let proxy: GrpcProxy;
let machine: Machine;
let provider: CountedProvider;

beforeAll(async () => {
  server = await DevServer.start();
  proxy = await GrpcProxy.start(server.address);
  machine = await Machine.make(server);
  provider = new CountedProvider(machine.home.path);
  await machine.startWorker('all', { PERDURE_CODEX_BIN: provider.program });
});
afterAll(async () => {
  await machine.dispose();
  await proxy.close();
  await server.stop();
});

/** Starts a command whose connection goes through the proxy. */
function follow(args: string[]) {
  const child = machine.spawn(args, { TEMPORAL_ADDRESS: proxy.address });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const ended = Promise.all([once(child, 'close'), text(child.stderr)]).then(([[status]]) => Number(status));
  return { ended, lines: () => stdout.split('\n').slice(0, -1) };
}

describe('a command that follows a run', () => {
  it('shows everything once, however often its connection is cut (P114)', async () => {
    let looks = 0;
    proxy.decide = (method) => {
      if (method === 'DescribeWorkflowExecution') looks += 1;
      return 'pass';
    };
    const env = { PERDURE_CODEX_BIN: provider.program };
    await machine.begin(['task', 'create', '--title', 'Go', '--id', TASK]);
    const { attemptId = '' } = await machine.begin(['dispatch', TASK], { env });
    await until(() => provider.starts().length === 1);
    const logs = follow(['logs', TASK, '--follow', '--raw']);
    const watch = follow(['watch', TASK, '--json']);
    await until(() => watch.lines().length > 0);
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      const [seenLooks, seenLines] = [looks, logs.lines().length];
      await until(() => looks > seenLooks && logs.lines().length > seenLines);
      proxy.cut();
    }
    provider.release();
    expect(await Promise.all([logs.ended, watch.ended])).toEqual([0, 0]);

    const printed = readFileSync(machine.home.file('runs', attemptId, 'stdout.jsonl'), 'utf8');
    expect(logs.lines()).toEqual(printed.split('\n').slice(0, -1));
    expect(logs.lines().length).toBeGreaterThan(CUTS);

    const states = watch.lines().map((line) => stateSchema.parse(JSON.parse(line)));
    expect(states.filter((state, index) => JSON.stringify(state) === JSON.stringify(states[index - 1]))).toEqual([]);
    const offsets = states.flatMap(({ progress }) => (progress === undefined ? [] : [progress.offset]));
    expect(offsets).toEqual([...offsets].sort((one, other) => one - other));
    expect(states[0]).toMatchObject({ status: 'in_progress', phase: 'dispatchTask' });
    expect(states.at(-1)).toMatchObject({ status: 'in_progress', phase: 'task' });
  });
});
