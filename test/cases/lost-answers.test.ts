import { DevServer, until } from '../helpers/dev-server';
import { GrpcProxy } from '../helpers/grpc-proxy';
import { Machine } from '../helpers/machine';
import { CountedProvider } from '../helpers/counted-provider';

/** Everything that a person may be told when a server does not answer: no stack of Node, no raw error. */
const STACK = /\n\s+at |node:internal|UnhandledPromise/;

let server: DevServer;
let proxy: GrpcProxy;
let machine: Machine;
let provider: CountedProvider;

beforeAll(async () => {
  server = await DevServer.start();
  proxy = await GrpcProxy.start(server.address);
  machine = await Machine.make(server, { TEMPORAL_ADDRESS: proxy.address });
  provider = new CountedProvider(machine.home.path);
  provider.release();
  await machine.startWorker('all', { TEMPORAL_ADDRESS: server.address, PERDURE_CODEX_BIN: provider.program });
});
afterEach(() => {
  proxy.decide = () => 'pass';
});
afterAll(async () => {
  await machine.dispose();
  await proxy.close();
  await server.stop();
});

const env = () => ({ PERDURE_CODEX_BIN: provider.program });

/** Loses the answer of the first call of a method. */
function loseFirst(method: string): { count: number } {
  const seen = { count: 0 };
  proxy.decide = (called) => {
    if (called !== method) return 'pass';
    seen.count += 1;
    return seen.count === 1 ? 'lose' : 'pass';
  };
  return seen;
}

describe('an answer of the server that gets lost', () => {
  it('of a create leaves one task, and the command says that it is there (P82)', async () => {
    const seen = loseFirst('StartWorkflowExecution');
    expect(await machine.begin(['task', 'create', '--id', 'L-1', '--title', 'Go'])).toMatchObject({ status: 0 });
    expect(seen.count).toBe(2);
    expect(await machine.status('L-1')).toBe('pending');
  });

  it('of a dispatch starts one run (P82)', async () => {
    const seen = loseFirst('UpdateWorkflowExecution');
    expect(await machine.begin(['dispatch', 'L-1'], { env: env() })).toMatchObject({ status: 0, mode: 'start' });
    expect(seen.count).toBe(2);
    await until(async () => (await machine.attempts('L-1'))[0]?.outcome === 'completed');
    expect(await machine.attempts('L-1')).toHaveLength(1);
    expect(provider.starts()).toHaveLength(1);
  });

  it('of every call ends a command with its own words and exit code (P82)', async () => {
    proxy.decide = () => 'lose';
    for (const args of [
      ['task', 'create', '--title', 'x'],
      ['task', 'show', 'L-1'],
    ]) {
      const { status, stdout, stderr } = await machine.read(args);
      expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
      expect(stderr).toMatch(/^error TEMPORAL_UNREACHABLE: .*\nhint: .*\n$/);
      expect(stderr).not.toMatch(STACK);
    }
  });
});
