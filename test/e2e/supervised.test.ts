import { checkpoint, done } from '../helpers/checkpoint';
import { closeCodexMachine, openCodexMachine, type CodexMachine } from '../helpers/codex-machine';
import { until } from '../helpers/until';

let opened: CodexMachine;
beforeAll(async () => {
  opened = await openCodexMachine();
});
afterAll(() => closeCodexMachine(opened));

const say = (report: object) => `@say ${JSON.stringify(report)}`;

describe('a supervised delivery with the real Codex', () => {
  it('asks for checkpoints by a schema, goes on with an answer in the same thread, and completes by proof (CK-1, CK-14, RV8)', async () => {
    const { machine, endpoint } = opened;
    const question = checkpoint('S-1', { status: 'blocked', nextStep: null, question: 'Which word?' });
    const asked = await machine.begin(
      ['run', '--title', 'Ask first', '--id', 'S-1', '--description', '-', '--supervise', '--accept-file', 'word.txt'],
      { stdin: say(question) },
    );
    expect(asked).toMatchObject({ taskStatus: 'interrupted' });
    expect(asked).toMatchObject({
      status: 1,
      success: false,
      code: 'input_required',
      error: expect.stringContaining('Which word?') as string,
    });
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
