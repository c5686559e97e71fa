import { decideUpdate } from '../../contract/decision';
import { reopenUpdate } from '../../contract/run';
import { incidentsQuery } from '../../contract/incident';
import { waitSettled } from '../../client/wait';
import { checkpoint, done } from '../helpers/checkpoint';
import { deliveriesOn, said } from '../helpers/deliveries';
import { codeOf, idOf, Stage } from '../helpers/stage';

describe('a supervised delivery', () => {
  let stage: Stage;
  let on: ReturnType<typeof deliveriesOn>;
  beforeAll(async () => {
    stage = await Stage.open();
    on = deliveriesOn(stage);
  });
  afterAll(() => stage.close());

  it('makes attempts in a row on one thread, each with a checkpoint, until the criteria are proven (CK-5, CK-12, CK-14, TD-5)', async () => {
    const task = await on.create();
    const id = idOf(task);
    const usage = (inputTokens: number) => ({ threadUsage: { inputTokens, cachedInputTokens: 0, outputTokens: 0 } });
    on.script(
      { ...said(checkpoint(id)), ...usage(100) },
      { ...said(checkpoint(id, { remainingWork: ['a bit'], nextStep: 'the bit' })), ...usage(150) },
      { ...said(done(id)), ...usage(170) },
    );
    const { attemptId } = await on.supervise(task);
    const settled = await waitSettled(stage.session, { taskId: id, attemptId }, () => undefined);
    expect(settled).toMatchObject({ success: true, taskStatus: 'completed' });
    const { task: record, attempts, why } = await on.rest(task);
    expect(record).toMatchObject({ status: 'completed', result: 'all of it' });
    expect(attempts.map(({ mode, checkpoint: said }) => [mode, said])).toEqual([
      ['start', 'continue'],
      ['resume', 'continue'],
      ['resume', 'done'],
    ]);
    expect(new Set(attempts.map(({ threadId }) => threadId)).size).toBe(1);
    expect(attempts.at(-1)?.criteria).toMatchObject([{ command: 'make test', met: true }]);
    expect(attempts.flatMap(({ receipts }) => receipts)).toHaveLength(3);
    expect(why.facts.join('\n')).toContain('delivery: 3 of 20 attempts, 170 tokens');
    const [first, second] = on.ordersOf(task);
    expect(first).toMatchObject({ mode: 'start', report: 'checkpoint' });
    expect(first?.message).toContain('- c1: make test');
    expect(second).toMatchObject({ mode: 'resume', report: 'checkpoint' });
    expect(second?.message).toContain('Next step, by your last checkpoint: the other half');
    expect(second?.message).not.toContain('the last one failed');
  });

  it('completes nothing by the word of the agent: what is not proven is work that is left (CK-4, CK-14, CK-25)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(done(id));
    let tries = 0;
    stage.host.criteria = ({ commands }) => {
      tries += 1;
      const met = tries > 1;
      return Promise.resolve(commands.map((command) => ({ command, met, exitCode: met ? 0 : 2, output: '' })));
    };
    await on.supervise(task);
    const { task: record, attempts } = await on.rest(task);
    expect(record.status).toBe('completed');
    expect(attempts).toHaveLength(2);
    expect(on.ordersOf(task)[1]?.message).toContain('the criterion failed with exit code 2: make test');
  });

  it('asks a person when a criterion cannot be checked (CK-16)', async () => {
    const task = await on.create();
    on.script(done(idOf(task)));
    stage.host.criteria = ({ commands }) =>
      Promise.resolve(commands.map((command) => ({ command, met: false, exitCode: null, output: 'no such host' })));
    await on.supervise(task);
    const { task: record, why } = await on.rest(task);
    expect(record.status).toBe('interrupted');
    expect(why).toMatchObject({
      attention: 'input',
      sentence: expect.stringContaining('could not be checked') as string,
    });
    stage.host.criteria = ({ commands }) =>
      Promise.resolve(commands.map((command) => ({ command, met: true, exitCode: 0, output: '' })));
  });

  it('tells the agent why its report was not accepted, and asks a person after three in a row (CK-7, CK-8, CK-10, CK-11)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(checkpoint(id), { ...checkpoint(id), taskId: 'S3CRET' });
    await on.supervise(task, { supervise: { budget: { progress: 9 } } });
    const { task: record, attempts, why } = await on.rest(task);
    expect(attempts.map(({ code }) => code)).toEqual([null, ...Array.from({ length: 3 }, () => 'checkpoint_rejected')]);
    expect(record.status).toBe('in_progress');
    expect(why).toMatchObject({
      attention: 'recovery',
      sentence: expect.stringContaining('task_mismatch at /taskId') as string,
    });
    expect(JSON.stringify(record)).not.toContain('S3CRET');
    expect(on.ordersOf(task)[2]?.message).toContain('Your last report was not accepted: task_mismatch at /taskId.');
    const [incident] = await task.query(incidentsQuery);
    const wrong = { decision: 'retry' as const, incidentId: 'incident:of:old' };
    expect(await codeOf(task.executeUpdate(decideUpdate, { args: [wrong] }))).toBe('TASK_STATUS_CONFLICT');
    on.script(done(id));
    const decision = { decision: 'retry' as const, incidentId: incident?.id ?? '' };
    const answer = await task.executeUpdate(decideUpdate, { args: [decision] });
    expect(answer.attemptId).toBeDefined();
    expect((await on.rest(task)).task.status).toBe('completed');
  });

  it('goes on after a report that holds nothing printable (CK-3, CK-8)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(checkpoint(id, { summary: '\u0007' }), done(id));
    await on.supervise(task);
    const { task: record } = await on.rest(task);
    expect(record).toMatchObject({ status: 'completed', result: 'all of it' });
    expect(on.ordersOf(task)[1]?.message).toContain('was not accepted: field_invalid at /summary.');
  });

  it('waits with its question, and goes on with the answer in the same thread (CK-2, CK-17)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(checkpoint(id, { status: 'blocked', question: 'Which colour?', nextStep: null }), done(id));
    await on.supervise(task);
    const { why, attempts } = await on.rest(task);
    expect(why).toMatchObject({
      status: 'interrupted',
      attention: 'input',
      sentence: 'The task is interrupted: Which colour?',
    });
    const answer = { decision: 'continue' as const, note: 'Green.', actor: 'user:ada' };
    await task.executeUpdate(decideUpdate, { args: [answer] });
    const end = await on.rest(task);
    expect(end.task.status).toBe('completed');
    expect(end.attempts.at(-1)?.threadId).toBe(attempts[0]?.threadId);
    expect(on.ordersOf(task)[1]?.message).toContain('Green.');
    const external = await on.create();
    const proposedAction = { kind: 'mail', description: 'write to the customer', external: true };
    on.script(checkpoint(idOf(external), { proposedAction }));
    await on.supervise(external);
    expect((await on.rest(external)).why.sentence).toContain('write to the customer');
  });

  it('pauses when a budget is used up, says so, and goes on when a person gives more (BG-1, BG-11, BG-13, TD-17)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(checkpoint(id));
    await on.supervise(task, { supervise: { budget: { tokens: 50 } } });
    const { why, attempts } = await on.rest(task);
    expect(attempts).toHaveLength(1);
    expect(why).toMatchObject({
      status: 'interrupted',
      attention: 'budget',
      sentence: expect.stringContaining('110 of 50 tokens') as string,
    });
    const ask = (change: object) => task.executeUpdate(decideUpdate, { args: [{ decision: 'continue', ...change }] });
    expect(await codeOf(stage.ask(task))).toBe('budget_exhausted');
    expect(await codeOf(stage.ask(task, { supervise: { budget: { tokens: 1_000 } } }))).toBe('budget_fixed');
    expect(await codeOf(ask({}))).toBe('budget_exhausted');
    expect(await codeOf(ask({ actor: 'run:0199aaaa' }))).toBe('HUMAN_REQUIRED');
    on.script(done(id));
    await ask({ raise: { tokens: 500 }, actor: 'user:ada' });
    const end = await on.rest(task);
    expect(end.task.status).toBe('completed');
    const raised = end.task.activities.find(({ detail }) => detail.decision === 'continue');
    expect(raised).toMatchObject({ actor: 'user:ada', summary: 'goes on, 500 more tokens' });
    // What was used up counts on after a reopening.
    await task.executeUpdate(reopenUpdate, { args: [{ dispatch: { agentId: 'general-purpose' } }] });
    const again = await on.rest(task);
    expect(again.why.facts.join('\n')).toMatch(/delivery: 3 of 20 attempts, \d+ of 610 tokens/);
  });

  it('pauses after attempts without progress, and goes on when a person says how (BG-3, BG-12)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(checkpoint(id));
    await on.supervise(task, { supervise: { budget: { progress: 2 } } });
    const { why, attempts } = await on.rest(task);
    expect(attempts).toHaveLength(3);
    expect(why).toMatchObject({
      attention: 'budget',
      sentence: expect.stringContaining('2 attempts in a row') as string,
    });
    on.script(done(id));
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'continue', note: 'Use the other library.' }] });
    expect((await on.rest(task)).task.status).toBe('completed');
  });
});
