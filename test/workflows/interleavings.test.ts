import { Context } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { decideUpdate } from '../../contract/decision';
import { incidentsQuery } from '../../contract/incident';
import { attemptsQuery, stopUpdate, workersUpgradedSignal } from '../../contract/run';
import { setStatusUpdate, whyQuery } from '../../contract/task';
import { done } from '../helpers/checkpoint';
import { deliveriesOn, failed } from '../helpers/deliveries';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';

const LOST = { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null } as const;

describe('what comes in at a bad moment', () => {
  let stage: Stage;
  let on: ReturnType<typeof deliveriesOn>;
  beforeAll(async () => {
    stage = await Stage.open();
    on = deliveriesOn(stage);
  });
  beforeEach(() => {
    stage.host.isStuck = false;
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  });
  afterAll(() => stage.close());

  const stop = (task: WorkflowHandle) => task.executeUpdate(stopUpdate, { args: [{}] });
  const attention = async (task: WorkflowHandle) => (await task.query(whyQuery)).attention;
  const lose = async () => {
    const task = await stage.create();
    on.script(failed(LOST));
    const { attemptId } = await stage.settle(task);
    stage.host.run = (order) => goodReport(order);
    return { task, attemptId };
  };
  const isAlive = () => Promise.resolve({ liveness: 'alive' as const, evidence: ['process 42 lives'] });

  it('a stop of a lost executor ends what may be left of it on its host before it is recorded (US-6)', async () => {
    const { task, attemptId } = await lose();
    stage.host.isStuck = true;
    expect(await stop(task)).toMatchObject({ stopping: true });
    expect(await attention(task)).toBe('stopping');
    expect(await codeOf(stage.ask(task))).toBe('TASK_NOT_DISPATCHABLE');
    expect(await codeOf(task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] }))).toBe(
      'TASK_NOT_DISPATCHABLE',
    );
    stage.host.isStuck = false;
    await until(async () => (await stage.record(task)).status === 'interrupted');
    expect(stage.host.stopped).toContain(attemptId);
    expect(await task.query(incidentsQuery)).toMatchObject([{ code: 'interrupted_owner', decision: 'ended' }]);
    expect(await stage.settle(task)).toMatchObject({ mode: 'resume', outcome: 'completed' });
  });

  it('a stop of a lost executor whose host is away is an incident, and a decision takes it back (US-11, RC-14)', async () => {
    const { task } = await lose();
    stage.host.isStuck = true;
    await stop(task);
    await until(async () => (await attention(task)) === 'recovery');
    expect((await task.query(whyQuery)).sentence).toContain('stop_unconfirmed');
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'abandon' }] });
    expect(await stage.record(task)).toMatchObject({ status: 'failed' });
    await until(async () => (await attention(task)) === 'failed');
  });

  it.each(['abandon', 'stop', 'accept'] as const)(
    'after %s nothing is begun while the lost executor is not proven gone (RC-1, RC-14)',
    async (decision) => {
      const { task } = await lose();
      await task.executeUpdate(decideUpdate, { args: [{ decision }] });
      stage.host.probe = isAlive;
      expect(await codeOf(stage.ask(task))).toBe('owner_unconfirmed');
      expect(on.ordersOf(task)).toHaveLength(1);
      stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['gone'] });
      await stage.settle(task);
      expect(on.ordersOf(task)).toHaveLength(2);
    },
  );

  it.each(['stop', 'abandon'] as const)('a %s while a retry is being proven stays (RC-14)', async (word) => {
    const { task } = await lose();
    const probe = { isAsked: false, answer: (): void => undefined };
    const answered = new Promise<void>((resolve) => (probe.answer = resolve));
    stage.host.probe = async () => {
      probe.isAsked = true;
      await answered;
      return isAlive();
    };
    const retry = codeOf(task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] }));
    await until(() => probe.isAsked);
    if (word === 'stop') await stop(task);
    else await task.executeUpdate(decideUpdate, { args: [{ decision: 'abandon' }] });
    probe.answer();
    expect(['owner_unconfirmed', 'TASK_STATUS_CONFLICT']).toContain(await retry);
    await until(async () => ['interrupted', 'failed'].includes((await stage.record(task)).status));
    expect(on.ordersOf(task)).toHaveLength(1);
  });

  it.each([
    ['without a delivery', undefined],
    ['of a delivery', {}],
  ] as const)('a stop of a run %s whose executor is then lost is not forgotten (US-6)', async (_, supervise) => {
    const task = await on.create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await stage.dispatch(task, supervise === undefined ? {} : { supervise });
    const order = await stage.orderOf(attemptId);
    stage.host.isStuck = true;
    await stop(task);
    stage.host.release(order, LOST);
    await until(async () => (await task.query(incidentsQuery)).length > 0);
    stage.host.isStuck = false;
    await until(async () => (await stage.record(task)).status === 'interrupted');
    expect((await task.query(whyQuery)).attention).toBe('input');
  });

  it('a stop while the acceptance commands run ends them, and the task is interrupted (US-2)', async () => {
    const task = await on.create();
    stage.host.run = (order) => goodReport(order);
    let isChecking = false;
    const good = stage.host.criteria;
    stage.host.criteria = async () => {
      isChecking = true;
      // Ends with the activity, as the commands do.
      return Context.current().cancelled;
    };
    await stage.dispatch(task, { completion: 'criteria' });
    await until(() => isChecking);
    expect(await stop(task)).toMatchObject({ stopping: true });
    await until(async () => (await stage.record(task)).status === 'interrupted');
    stage.host.criteria = good;
    expect((await task.query(attemptsQuery)).at(-1)).toMatchObject({ outcome: 'completed', criteria: [] });
  });

  it('a roll-over in the 30 s of a stop neither loses its incident nor holds the phase (US-11)', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    stage.host.isStuck = true;
    await stop(task);
    await task.signal(workersUpgradedSignal);
    await until(async () => (await attention(task)) === 'recovery');
    stage.host.isStuck = false;
    expect(await stage.settled(task, order.attemptId)).toMatchObject({ outcome: 'stopped' });
  });

  it('a result is recorded though its host does not confirm the stop that came before it (US-4, US-11)', async () => {
    const task = await stage.create();
    const order = await stage.hold(task);
    stage.host.isStuck = true;
    await stop(task);
    stage.host.release(order);
    expect(await stage.settled(task, order.attemptId)).toMatchObject({ outcome: 'completed' });
    expect(await task.query(incidentsQuery)).toMatchObject([{ code: 'stop_unconfirmed', decision: 'ended' }]);
  });

  it.each(['completed', 'failed'] as const)(
    'a task that becomes %s while it waits is not run afterwards',
    async (status) => {
      const task = await stage.create();
      const resetsAt = new Date(Date.now() + 3_600_000).toISOString();
      on.script(failed({ code: 'usage_limit', error: 'limit', resetsAt }));
      await stage.dispatch(task);
      await until(async () => (await attention(task)) === 'waiting');
      const words = status === 'completed' ? { result: 'by hand' } : { failureReason: 'not worth it' };
      await task.executeUpdate(setStatusUpdate, { args: [{ status, ...words }] });
      await until(async () => (await task.describe()).type === 'task');
      expect(await stage.record(task)).toMatchObject({ status, ...words });
      expect(on.ordersOf(task)).toHaveLength(1);
    },
  );

  it('a dispatch that a budget refuses changes nothing, and more of it can be given (BG-5, RC-15)', async () => {
    const task = await on.create();
    on.script(failed(LOST));
    await on.supervise(task, { supervise: { budget: { attempts: 1 } } });
    await on.rest(task);
    expect(await codeOf(stage.ask(task))).toBe('budget_exhausted');
    expect(await stage.record(task)).toMatchObject({ status: 'in_progress' });
    expect(await task.query(incidentsQuery)).toMatchObject([{ decidedAt: null }]);
    on.script(done(task.workflowId.split('/').at(-1) ?? ''));
    await task.executeUpdate(decideUpdate, { args: [{ decision: 'retry', raise: { attempts: 2 } }] });
    expect((await on.rest(task)).task.status).toBe('completed');
  });
});
