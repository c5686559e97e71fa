import { decideUpdate } from '../../contract/decision';
import { incidentsQuery } from '../../contract/incident';
import { stopUpdate } from '../../contract/run';
import { addActivityUpdate, whyQuery } from '../../contract/task';
import { checkpoint, done, verdict } from '../helpers/checkpoint';
import { deliveriesOn, failed, said } from '../helpers/deliveries';
import { codeOf, idOf, Stage } from '../helpers/stage';
import { until } from '../helpers/dev-server';

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
});
