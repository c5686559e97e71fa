import type { RunReport } from '../../contract/activities';
import { attemptsQuery, stopUpdate } from '../../contract/run';
import { whyQuery } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { Stage } from '../helpers/stage';
import { until as untilFound } from '../helpers/until';

describe('a usage limit of the account', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const limited = (ms: number): Partial<RunReport> => ({
    outcome: 'failed',
    observation: null,
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
