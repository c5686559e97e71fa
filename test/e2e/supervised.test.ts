import { DevServer } from '../helpers/dev-server';
import { checkpoint, done } from '../helpers/checkpoint';
import { Machine } from '../helpers/machine';
import { SCRIPTED_KEY, ScriptedEndpoint } from '../helpers/scripted-endpoint';
import { until } from '../helpers/until';

let server: DevServer;
let endpoint: ScriptedEndpoint;
let machine: Machine;

beforeAll(async () => {
  server = await DevServer.start();
  machine = await Machine.make(server, SCRIPTED_KEY);
  const codexHome = machine.home.file('codex-home');
  endpoint = await ScriptedEndpoint.start(codexHome);
  await machine.startWorker('all', { CODEX_HOME: codexHome });
});
afterAll(async () => {
  await machine.dispose();
  await endpoint.close();
  await server.stop();
});

const say = (report: object) => `@say ${JSON.stringify(report)}`;

describe('a supervised delivery with the real Codex', () => {
  it('asks for checkpoints by a schema, goes on with an answer in the same thread, and completes by proof (CK-1, CK-14, RV8)', async () => {
    const question = checkpoint('S-1', { status: 'blocked', nextStep: null, question: 'Which word?' });
    const asked = await machine.begin(
      ['run', '--title', 'Ask first', '--id', 'S-1', '--description', '-', '--supervise', '--accept-file', 'word.txt'],
      { stdin: say(question) },
    );
    expect(asked).toMatchObject({ taskStatus: 'interrupted' });
    expect(await machine.perdure('why', 'S-1')).toMatchObject({
      attention: 'input',
      sentence: 'The task is interrupted: Which word?',
    });
    const answer = ['quokka', '@shell echo quokka > word.txt', say(done('S-1'))].join('\n');
    const decided = await machine.perdure('decide', 'S-1', '--continue', '--note', answer);
    expect(decided).toMatchObject({ success: true, status: 0 });
    await until(async () => (await machine.status('S-1')) === 'completed');
    const attempts = await machine.attempts('S-1');
    expect(new Set(attempts.map(({ threadId }) => threadId)).size).toBe(1);
    expect(attempts.every(({ spawns }) => spawns === 1)).toBe(true);
    expect(endpoint.requests.every(({ schema }) => schema === 'codex_output_schema')).toBe(true);
  });
});
