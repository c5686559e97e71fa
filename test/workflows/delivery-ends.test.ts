import { decideUpdate } from '../../contract/decision';
import { incidentsQuery } from '../../contract/incident';
import { carriedQuery, stopUpdate } from '../../contract/run';
import { addActivityUpdate, setStatusUpdate, updateUpdate, whyQuery } from '../../contract/task';
import { checkpoint, done, verdict } from '../helpers/checkpoint';
import { deliveriesOn, failed, said } from '../helpers/deliveries';
import { codeOf, idOf, Stage } from '../helpers/stage';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';

describe('a supervised delivery that does not just go on', () => {
  let stage: Stage;
  let on: ReturnType<typeof deliveriesOn>;
  beforeAll(async () => {
    stage = await Stage.open();
    on = deliveriesOn(stage);
  });
  afterAll(() => stage.close());

  it('is stopped in mid-run, between attempts and in a back-off; nothing follows a stop (GU-3, US-2, US-7, US-8)', async () => {
    const held = await on.create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await on.supervise(held);
    const order = await stage.orderOf(attemptId);
    await held.executeUpdate(stopUpdate, { args: [{}] });
    // The run ends by itself with a good report, 10 ms after the stop.
    stage.host.release(order, said(checkpoint(idOf(held))));
    const first = await on.rest(held);
    expect(first.task.status).toBe('interrupted');
    expect(first.attempts).toHaveLength(1);

    const backingOff = await on.create();
    on.script(failed());
    await on.supervise(backingOff);
    await until(async () => (await backingOff.query(whyQuery)).attention === 'waiting');
    const why = await backingOff.query(whyQuery);
    expect(why.sentence).toMatch(/^Attempt 2 begins at .*: attempt 1 failed \(RUN_FAILED\)\.$/);
    expect(await backingOff.executeUpdate(stopUpdate, { args: [{}] })).toMatchObject({ stopping: true });
    const second = await on.rest(backingOff);
    expect(second.task).toMatchObject({ status: 'interrupted' });
    expect(second.attempts.map(({ spawns }) => spawns)).toEqual([1, 0]);
    expect(on.ordersOf(backingOff)).toHaveLength(1);
  });

  it('gives a note of the last work run to the worker, and none to a review (RV8)', async () => {
    const task = await on.create();
    const id = idOf(task);
    stage.host.run = stage.host.hold;
    const { attemptId } = await on.supervise(task, { supervise: { verify: true } });
    const order = await stage.orderOf(attemptId);
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'NOTE <1>' }] });
    on.script(verdict(id, { verdict: 'refuted', findings: ['x'] }), checkpoint(id), done(id), verdict(id));
    stage.host.release(order, said(done(id)));
    await on.rest(task);
    expect(on.ordersOf(task).map(({ report, message }) => [report, message.includes('NOTE <1>')])).toEqual([
      ['checkpoint', false],
      ['verdict', false],
      ['checkpoint', true],
      ['checkpoint', false],
      ['verdict', false],
    ]);
  });

  it('fails a run whose host says that it completed with a code that nobody knows', async () => {
    const task = await on.create();
    const newer = { ...said(done(idOf(task))), code: 'a_code_of_a_newer_host' as never };
    on.script(newer, done(idOf(task)));
    await on.supervise(task);
    const { task: record, attempts } = await on.rest(task);
    expect(record.status).toBe('completed');
    expect(attempts.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['failed', 'RUN_FAILED'],
      ['completed', null],
    ]);
  });

  it.each([
    ['what is known of the evidence of a newer host', { newer: 1 }, /^(?!.*newer).*half of it/],
    ['nothing of evidence that cannot be read', { changes: 'many' }, /^null$/],
  ])('keeps %s', async (_, change, kept) => {
    const task = await on.create();
    const { evidence } = stage.host;
    stage.host.evidence = async (order) => ({ ...(await evidence(order)), ...change }) as never;
    on.script(failed({ outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null }));
    await on.supervise(task);
    await on.rest(task);
    stage.host.evidence = evidence;
    const [incident] = await task.query(incidentsQuery);
    expect(JSON.stringify(incident?.snapshot)).toMatch(kept);
  });

  it('goes on after a failure that may pass, and fails on one that will not (BG-11)', async () => {
    const task = await on.create();
    on.script(failed(), done(idOf(task)));
    await on.supervise(task);
    const { task: record, attempts } = await on.rest(task);
    expect(record.status).toBe('completed');
    expect(attempts.map(({ mode, outcome }) => [mode, outcome])).toEqual([
      ['start', 'failed'],
      ['retry', 'completed'],
    ]);
    const hopeless = await on.create();
    on.script(failed({ code: 'session_not_found', error: 'no rollout' }));
    await on.supervise(hopeless);
    const end = await on.rest(hopeless);
    expect(end.task).toMatchObject({ status: 'failed', failureReason: 'session_not_found: no rollout' });
    expect(end.attempts).toHaveLength(1);
  });

  it('never goes on by itself after an interrupted owner (RC-4, RC-7, RC-8)', async () => {
    const task = await on.create();
    on.script(failed({ outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null }));
    await on.supervise(task);
    const { why, attempts } = await on.rest(task);
    expect(why).toMatchObject({ status: 'in_progress', attention: 'recovery' });
    expect(attempts).toHaveLength(1);
    stage.host.probe = () => Promise.resolve({ liveness: 'unknown', evidence: ['its host does not answer'] });
    const retry = () => task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] });
    expect(await codeOf(retry())).toBe('owner_unconfirmed');
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
    on.script(done(idOf(task)));
    await retry();
    expect((await on.rest(task)).task.status).toBe('completed');
  });

  it('is reviewed in a thread of its own before it counts, where that was asked for (CK-18, CK-19, CK-25)', async () => {
    const task = await on.create();
    const id = idOf(task);
    const at = (workspace: string, report: object) => ({ ...said(report), workspace });
    on.script(
      at('w1', done(id)),
      at('w1', verdict(id, { verdict: 'refuted', findings: ['no documentation'] })),
      at('w2', done(id)),
      at('w3', verdict(id)),
      at('w2', verdict(id)),
    );
    await on.supervise(task, { supervise: { verify: true } });
    const { task: record, attempts } = await on.rest(task);
    expect(record.status).toBe('completed');
    expect(attempts.map(({ purpose, checkpoint: word }) => [purpose, word])).toEqual([
      ['work', 'done'],
      ['review', 'refuted'],
      ['work', 'done'],
      ['review', 'workspace_changed'],
      ['review', 'confirmed'],
    ]);
    const [work, review, more] = on.ordersOf(task);
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
    const task = await on.create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await on.supervise(task);
    const order = await stage.orderOf(attemptId);
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'NOTE <1>' }] });
    const report = checkpoint(idOf(task));
    on.script(checkpoint(idOf(task), { remainingWork: ['a'] }), done(idOf(task)));
    stage.host.release(order, said(report));
    await on.rest(task);
    expect(on.ordersOf(task).map(({ message }) => message.includes('NOTE <1>'))).toEqual([false, true, false]);
  });

  it('is given more when it failed or ended with a used-up budget, and says so (BG-13)', async () => {
    const task = await on.create();
    on.script(failed({ code: 'session_not_found', error: 'no rollout' }));
    await on.supervise(task, { supervise: { budget: { attempts: 1 } } });
    expect((await on.rest(task)).why).toMatchObject({
      attention: 'failed',
      next: 'decide --continue with more budget',
    });
    const goOn = (raise?: { attempts: number }) =>
      task.executeUpdate(decideUpdate, { args: [{ decision: 'continue', ...(raise && { raise }) }] });
    on.script(done(idOf(task)));
    await goOn({ attempts: 1 });
    expect((await on.rest(task)).task.status).toBe('completed');
    expect(await codeOf(goOn())).toBe('budget_exhausted');
    await goOn({ attempts: 1 });
    expect((await on.rest(task)).attempts).toHaveLength(3);
  });

  it('counts usage limits against its budgets, and believes a wrong reset time less each time (BG-1, P26)', async () => {
    const limit = failed({ code: 'usage_limit', error: 'limit', resetsAt: '2026-01-01T00:00:02.000Z' });
    const task = await on.create();
    on.script(limit);
    await on.supervise(task, { supervise: { budget: { attempts: 1 } } });
    expect((await on.rest(task)).why).toMatchObject({ attention: 'budget' });
    expect(on.ordersOf(task)).toHaveLength(1);
    const plain = await stage.create();
    await stage.dispatch(plain);
    await until(async () => {
      const { intent, attempts } = await plain.query(carriedQuery);
      const wait = intent?.kind === 'run' ? Date.parse(intent.notBefore ?? '') - Date.now() : 0;
      return attempts.length > 2 && wait > 30_000;
    });
    await plain.executeUpdate(stopUpdate, { args: [{}] });
  });

  it('is reviewed again when the review itself failed, and within its budgets (CK-19, BG-1)', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(done(id), failed(), verdict(id));
    await on.supervise(task, { supervise: { verify: true } });
    const { task: ended, attempts } = await on.rest(task);
    expect(ended.status).toBe('completed');
    expect(attempts.map(({ purpose, policy }) => [purpose, policy.sandbox])).toEqual([
      ['work', 'workspace-write'],
      ['review', 'read-only'],
      ['review', 'read-only'],
    ]);
    const tight = await on.create();
    on.script(done(idOf(tight)), verdict(idOf(tight)));
    await on.supervise(tight, { supervise: { verify: true, budget: { attempts: 1 } } });
    expect((await on.rest(tight)).why).toMatchObject({ attention: 'budget' });
    expect(on.ordersOf(tight)).toHaveLength(1);
  });

  it('counts a review of what the criteria wrote, as long as nothing changed while it looked (CK-19)', async () => {
    const task = await on.create();
    const id = idOf(task);
    const at = (workspace: string, report: object) => ({ ...said(report), workspace });
    on.script(at('w1', done(id)), { ...at('w2', verdict(id)), workspaceBefore: 'w2' });
    await on.supervise(task, { supervise: { verify: true } });
    const { task: ended, attempts } = await on.rest(task);
    expect([ended.status, attempts.length]).toEqual(['completed', 2]);
  });

  it('is not judged by its own run: neither by its word nor by other criteria (CK-14)', async () => {
    const task = await on.create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await on.supervise(task);
    const order = await stage.orderOf(attemptId);
    const actor = `run:${attemptId}`;
    const completed = { actor, status: 'completed' as const, result: 'trust me' };
    expect(await codeOf(task.executeUpdate(setStatusUpdate, { args: [completed] }))).toBe('HUMAN_REQUIRED');
    expect(await codeOf(task.executeUpdate(updateUpdate, { args: [{ actor, acceptance: [] }] }))).toBe(
      'HUMAN_REQUIRED',
    );
    expect(order.message).not.toContain('set_status completed');
    await task.executeUpdate(updateUpdate, { args: [{ acceptance: [] }] });
    stage.host.release(order, said({ ...done(idOf(task)), criteria: [] }));
    expect((await on.rest(task)).why).toMatchObject({ attention: 'input' });
    expect((await stage.record(task)).status).toBe('interrupted');
  });

  it('of a managed task is retried by its queue once its executor is proven gone (MA2, RC-14)', async () => {
    const task = await stage.create({
      metadata: { projectId: `P-${idOf(await stage.create())}` },
      acceptance: ['make'],
    });
    on.script(failed({ outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null }));
    await stage.ask(task);
    await until(async () => (await task.query(whyQuery)).attention === 'recovery');
    // Its queue is told first.
    await until(async () => (await task.describe()).type === 'task');
    stage.host.run = (order) => goodReport(order);
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] });
    await until(() => on.ordersOf(task).length === 2);
  });
});
