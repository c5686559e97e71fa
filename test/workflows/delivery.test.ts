import type { WorkflowHandle } from '@temporalio/client';
import type { RunOrder, RunReport } from '../../contract/activities';
import { attemptsQuery, decideUpdate, reopenUpdate, stopUpdate, type Dispatch } from '../../contract/run';
import { addActivityUpdate, whyQuery } from '../../contract/task';
import { incidentsQuery } from '../../contract/incident';
import { waitSettled } from '../../client/wait';
import { checkpoint, done, verdict } from '../helpers/checkpoint';
import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';
import { until } from '../helpers/dev-server';
import { until as untilFound } from '../helpers/until';

type Answer = object | Partial<RunReport>;

const idOf = ({ workflowId }: WorkflowHandle): string => workflowId.split('/').at(-1) ?? '';

const said = (report: object): Partial<RunReport> => {
  const text = JSON.stringify(report);
  return { observation: { text, bytes: text.length } };
};
const failed = (change: Partial<RunReport> = {}): Partial<RunReport> => ({
  outcome: 'failed',
  code: 'RUN_FAILED',
  error: 'no luck',
  observation: null,
  ...change,
});

describe('a supervised delivery', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  /** What the host reports of one attempt after the other; the last one again and again. */
  const script = (...answers: Answer[]) => {
    let next = 0;
    stage.host.run = (order) => {
      const answer = answers[Math.min(next, answers.length - 1)] ?? {};
      next += 1;
      return goodReport(order, 'version' in answer ? said(answer) : answer);
    };
  };
  const create = () => stage.create({ acceptance: ['make test'] });
  const supervise = (task: WorkflowHandle, change: Partial<Dispatch> = {}) =>
    stage.dispatch(task, { supervise: {}, ...change });
  /** Waits until nothing runs the task and nothing will. */
  const rest = async (task: WorkflowHandle) => {
    await until(async () => {
      const { attention } = await task.query(whyQuery);
      return !['running', 'stopping', 'waiting'].includes(attention);
    });
    return {
      why: await task.query(whyQuery),
      task: await stage.record(task),
      attempts: await task.query(attemptsQuery),
    };
  };
  const ordersOf = (task: WorkflowHandle): RunOrder[] =>
    stage.host.orders.filter((order) => order.task.taskId === idOf(task));

  it('makes attempts in a row on one thread, each with a checkpoint, until the criteria are proven (CK-5, CK-12, CK-14, TD-5)', async () => {
    const task = await create();
    const id = idOf(task);
    const usage = (inputTokens: number) => ({ threadUsage: { inputTokens, cachedInputTokens: 0, outputTokens: 0 } });
    script(
      { ...said(checkpoint(id)), ...usage(100) },
      { ...said(checkpoint(id, { remainingWork: ['a bit'], nextStep: 'the bit' })), ...usage(150) },
      { ...said(done(id)), ...usage(170) },
    );
    const { attemptId } = await supervise(task);
    const settled = await waitSettled(stage.session, { taskId: id, attemptId }, () => undefined);
    expect(settled).toMatchObject({ success: true, taskStatus: 'completed' });
    const { task: record, attempts, why } = await rest(task);
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
    const [first, second] = ordersOf(task);
    expect(first).toMatchObject({ mode: 'start', report: 'checkpoint' });
    expect(first?.message).toContain('- c1: make test');
    expect(second).toMatchObject({ mode: 'resume', report: 'checkpoint' });
    expect(second?.message).toContain('Next step, by your last checkpoint: the other half');
    expect(second?.message).not.toContain('the last one failed');
  });

  it('completes nothing by the word of the agent: what is not proven is work that is left (CK-4, CK-14, CK-25)', async () => {
    const task = await create();
    const id = idOf(task);
    script(done(id));
    let tries = 0;
    stage.host.criteria = ({ commands }) => {
      tries += 1;
      const met = tries > 1;
      return Promise.resolve(commands.map((command) => ({ command, met, exitCode: met ? 0 : 2, output: '' })));
    };
    await supervise(task);
    const { task: record, attempts } = await rest(task);
    expect(record.status).toBe('completed');
    expect(attempts).toHaveLength(2);
    expect(ordersOf(task)[1]?.message).toContain('the criterion failed with exit code 2: make test');
  });

  it('asks a person when a criterion cannot be checked (CK-16)', async () => {
    const task = await create();
    script(done(idOf(task)));
    stage.host.criteria = ({ commands }) =>
      Promise.resolve(commands.map((command) => ({ command, met: false, exitCode: null, output: 'no such host' })));
    await supervise(task);
    const { task: record, why } = await rest(task);
    expect(record.status).toBe('interrupted');
    expect(why).toMatchObject({
      attention: 'input',
      sentence: expect.stringContaining('could not be checked') as string,
    });
    stage.host.criteria = ({ commands }) =>
      Promise.resolve(commands.map((command) => ({ command, met: true, exitCode: 0, output: '' })));
  });

  it('tells the agent why its report was not accepted, and asks a person after three in a row (CK-7, CK-8, CK-10, CK-11)', async () => {
    const task = await create();
    const id = idOf(task);
    script(checkpoint(id), { ...checkpoint(id), taskId: 'S3CRET' });
    await supervise(task, { supervise: { budget: { progress: 9 } } });
    const { task: record, attempts, why } = await rest(task);
    expect(attempts.map(({ code }) => code)).toEqual([null, ...Array.from({ length: 3 }, () => 'checkpoint_rejected')]);
    expect(record.status).toBe('in_progress');
    expect(why).toMatchObject({
      attention: 'recovery',
      sentence: expect.stringContaining('task_mismatch at /taskId') as string,
    });
    expect(JSON.stringify(record)).not.toContain('S3CRET');
    expect(ordersOf(task)[2]?.message).toContain('Your last report was not accepted: task_mismatch at /taskId.');
    const [incident] = await task.query(incidentsQuery);
    const wrong = { decision: 'retry' as const, incidentId: 'incident:of:old' };
    expect(await codeOf(task.executeUpdate(decideUpdate, { args: [wrong] }))).toBe('TASK_STATUS_CONFLICT');
    script(done(id));
    const decision = { decision: 'retry' as const, incidentId: incident?.id ?? '' };
    const answer = await task.executeUpdate(decideUpdate, { args: [decision] });
    expect(answer.attemptId).toBeDefined();
    expect((await rest(task)).task.status).toBe('completed');
  });

  it('waits with its question, and goes on with the answer in the same thread (CK-2, CK-17)', async () => {
    const task = await create();
    const id = idOf(task);
    script(checkpoint(id, { status: 'blocked', question: 'Which colour?', nextStep: null }), done(id));
    await supervise(task);
    const { why, attempts } = await rest(task);
    expect(why).toMatchObject({
      status: 'interrupted',
      attention: 'input',
      sentence: 'The task is interrupted: Which colour?',
    });
    const answer = { decision: 'continue' as const, note: 'Green.', actor: 'user:ada' };
    await task.executeUpdate(decideUpdate, { args: [answer] });
    const end = await rest(task);
    expect(end.task.status).toBe('completed');
    expect(end.attempts.at(-1)?.threadId).toBe(attempts[0]?.threadId);
    expect(ordersOf(task)[1]?.message).toContain('Green.');
    const external = await create();
    const proposedAction = { kind: 'mail', description: 'write to the customer', external: true };
    script(checkpoint(idOf(external), { proposedAction }));
    await supervise(external);
    expect((await rest(external)).why.sentence).toContain('write to the customer');
  });

  it('pauses when a budget is used up, says so, and goes on when a person gives more (BG-1, BG-11, BG-13, TD-17)', async () => {
    const task = await create();
    const id = idOf(task);
    script(checkpoint(id));
    await supervise(task, { supervise: { budget: { tokens: 50 } } });
    const { why, attempts } = await rest(task);
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
    script(done(id));
    await ask({ raise: { tokens: 500 }, actor: 'user:ada' });
    const end = await rest(task);
    expect(end.task.status).toBe('completed');
    const raised = end.task.activities.find(({ detail }) => detail.decision === 'continue');
    expect(raised).toMatchObject({ actor: 'user:ada', summary: 'goes on, 500 more tokens' });
    // What was used up counts on after a reopening.
    await task.executeUpdate(reopenUpdate, { args: [{ dispatch: { agentId: 'general-purpose' } }] });
    const again = await rest(task);
    expect(again.why.facts.join('\n')).toMatch(/delivery: 3 of 20 attempts, \d+ of 610 tokens/);
  });

  it('pauses after attempts without progress, and goes on when a person says how (BG-3, BG-12)', async () => {
    const task = await create();
    const id = idOf(task);
    script(checkpoint(id));
    await supervise(task, { supervise: { budget: { progress: 2 } } });
    const { why, attempts } = await rest(task);
    expect(attempts).toHaveLength(3);
    expect(why).toMatchObject({
      attention: 'budget',
      sentence: expect.stringContaining('2 attempts in a row') as string,
    });
    script(done(id));
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'continue', note: 'Use the other library.' }] });
    expect((await rest(task)).task.status).toBe('completed');
  });

  it('is stopped in mid-run, between attempts and in a back-off; nothing follows a stop (GU-3, US-2, US-7, US-8)', async () => {
    const held = await create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await supervise(held);
    const order = await stage.orderOf(attemptId);
    await held.executeUpdate(stopUpdate, { args: [{}] });
    // The run ends by itself with a good report, 10 ms after the stop.
    stage.host.release(order, said(checkpoint(idOf(held))));
    const first = await rest(held);
    expect(first.task.status).toBe('interrupted');
    expect(first.attempts).toHaveLength(1);

    const backingOff = await create();
    script(failed());
    await supervise(backingOff);
    await until(async () => (await backingOff.query(whyQuery)).attention === 'waiting');
    const why = await backingOff.query(whyQuery);
    expect(why.sentence).toMatch(/^Attempt 2 begins at .*: attempt 1 failed \(RUN_FAILED\)\.$/);
    expect(await backingOff.executeUpdate(stopUpdate, { args: [{}] })).toMatchObject({ stopping: true });
    const second = await rest(backingOff);
    expect(second.task).toMatchObject({ status: 'interrupted' });
    expect(second.attempts.map(({ spawns }) => spawns)).toEqual([1, 0]);
    expect(ordersOf(backingOff)).toHaveLength(1);
  });

  it('goes on after a failure that may pass, and fails on one that will not (BG-11)', async () => {
    const task = await create();
    script(failed(), done(idOf(task)));
    await supervise(task);
    const { task: record, attempts } = await rest(task);
    expect(record.status).toBe('completed');
    expect(attempts.map(({ mode, outcome }) => [mode, outcome])).toEqual([
      ['start', 'failed'],
      ['retry', 'completed'],
    ]);
    const hopeless = await create();
    script(failed({ code: 'session_not_found', error: 'no rollout' }));
    await supervise(hopeless);
    const end = await rest(hopeless);
    expect(end.task).toMatchObject({ status: 'failed', failureReason: 'session_not_found: no rollout' });
    expect(end.attempts).toHaveLength(1);
  });

  it('never goes on by itself after an interrupted owner (RC-4, RC-7, RC-8)', async () => {
    const task = await create();
    script(failed({ outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null }));
    await supervise(task);
    const { why, attempts } = await rest(task);
    expect(why).toMatchObject({ status: 'in_progress', attention: 'recovery' });
    expect(attempts).toHaveLength(1);
    stage.host.probe = () => Promise.resolve({ liveness: 'unknown', evidence: ['its host does not answer'] });
    const retry = () => task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] });
    expect(await codeOf(retry())).toBe('owner_unconfirmed');
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
    script(done(idOf(task)));
    await retry();
    expect((await rest(task)).task.status).toBe('completed');
  });

  it('is reviewed in a thread of its own before it counts, where that was asked for (CK-18, CK-19, CK-25)', async () => {
    const task = await create();
    const id = idOf(task);
    const at = (workspace: string, report: object) => ({ ...said(report), workspace });
    script(
      at('w1', done(id)),
      at('w1', verdict(id, { verdict: 'refuted', findings: ['no documentation'] })),
      at('w2', done(id)),
      at('w3', verdict(id)),
      at('w2', verdict(id)),
    );
    await supervise(task, { supervise: { verify: true } });
    const { task: record, attempts } = await rest(task);
    expect(record.status).toBe('completed');
    expect(attempts.map(({ purpose, checkpoint: word }) => [purpose, word])).toEqual([
      ['work', 'done'],
      ['review', 'refuted'],
      ['work', 'done'],
      ['review', 'workspace_changed'],
      ['review', 'confirmed'],
    ]);
    const [work, review, more] = ordersOf(task);
    expect(review).toMatchObject({
      mode: 'start',
      threadId: null,
      report: 'verdict',
      policy: { sandbox: 'read-only' },
    });
    expect(more).toMatchObject({ mode: 'resume', report: 'checkpoint', policy: work?.policy });
    expect(more?.message).toContain('- no documentation');
    expect(record.context.thread_id).toBe(attempts[0]?.threadId);
  });

  it('is refused where nothing could prove it (TD-17, GU-10)', async () => {
    const task = await stage.create();
    expect(await codeOf(stage.ask(task, { supervise: {} }))).toBe('invalid_criteria');
    const ask = { decision: 'continue' as const };
    expect(await codeOf(task.executeUpdate(decideUpdate, { args: [ask] }))).toBe('NOTHING_TO_DECIDE');
  });

  it('gives a note that came in between to exactly one attempt (P117)', async () => {
    const task = await create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await supervise(task);
    const order = await stage.orderOf(attemptId);
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'NOTE <1>' }] });
    const report = checkpoint(idOf(task));
    script(checkpoint(idOf(task), { remainingWork: ['a'] }), done(idOf(task)));
    stage.host.release(order, said(report));
    await rest(task);
    expect(ordersOf(task).map(({ message }) => message.includes('NOTE <1>'))).toEqual([false, true, false]);
  });
});

describe('a usage limit of the account', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const limited = (ms: number): Partial<RunReport> =>
    failed({
      code: 'usage_limit',
      error: 'You have hit your usage limit',
      resetsAt: new Date(Date.now() + ms).toISOString(),
    });

  it('is waited for with a durable timer, and the task goes on in its thread (P26)', async () => {
    const task = await stage.create();
    stage.host.run = (order) => (order.mode === 'start' ? goodReport(order, limited(1)) : goodReport(order));
    const { attemptId } = await stage.dispatch(task);
    await until(async () => (await task.query(whyQuery)).attention === 'waiting');
    expect((await task.query(whyQuery)).sentence).toContain("the account's usage limit is reset by then");
    const attempt = await untilFound(async () => {
      const attempts = await task.query(attemptsQuery);
      const last = attempts.at(-1);
      return last?.settledAt && last.attemptId !== attemptId ? last : undefined;
    });
    expect(attempt).toMatchObject({ mode: 'retry', outcome: 'completed', firstAttemptId: attemptId });
    expect((await stage.record(task)).status).toBe('in_progress');
  });

  it('can be told not to be waited for, and a stop ends the wait (P26, US-2)', async () => {
    stage.host.run = (order) => goodReport(order, limited(3_600_000));
    const told = await stage.create();
    await stage.settle(told, { onUsageLimit: 'fail' });
    expect(await stage.record(told)).toMatchObject({ status: 'failed' });
    const waits = await stage.create();
    await stage.dispatch(waits);
    await until(async () => (await waits.query(whyQuery)).attention === 'waiting');
    await waits.executeUpdate(stopUpdate, { args: [{}] });
    await until(async () => (await stage.record(waits)).status === 'interrupted');
  });
});
