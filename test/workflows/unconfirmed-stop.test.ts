import { decideUpdate } from '../../contract/decision';
import { incidentsQuery } from '../../contract/incident';
import { stopUpdate } from '../../contract/run';
import { whyQuery } from '../../contract/task';
import { until } from '../helpers/dev-server';
import { codeOf, Stage } from '../helpers/stage';

describe('a stop that its host does not confirm', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  it('is answered at once, is an incident after 30 s, and stays pending until nothing runs (US-10, US-11)', async () => {
    const task = await stage.create();
    const { attemptId } = await stage.hold(task);
    stage.host.isStuck = true;
    const answer = await task.executeUpdate(stopUpdate, { args: [{ reason: 'wrong branch' }] });
    expect(answer).toMatchObject({ stopping: true });
    expect(await task.query(whyQuery)).toMatchObject({ attention: 'stopping' });
    expect(await task.query(incidentsQuery)).toEqual([]);

    await until(async () => (await task.query(whyQuery)).attention !== 'stopping');
    const { attention, sentence, executor, facts } = await task.query(whyQuery);
    expect({ attention, executor }).toMatchObject({ attention: 'recovery', executor: { attemptId } });
    expect(sentence).toContain('recovery_required (stop_unconfirmed)');
    expect(facts).toContainEqual(expect.stringContaining(`open incident incident:stop_unconfirmed:${attemptId}`));
    expect(await task.query(incidentsQuery)).toMatchObject([
      { code: 'stop_unconfirmed', subject: attemptId, decidedAt: null },
    ]);
    await stage.listed(task, "PerdureAttention = 'recovery'");
    expect(await task.executeUpdate(stopUpdate, { args: [{}] })).toEqual(answer);
    const retry = task.executeUpdate(decideUpdate, { args: [{ decision: 'retry' }] });
    expect(await codeOf(retry)).toBe('NOTHING_TO_DECIDE');

    stage.host.isStuck = false;
    expect(await stage.settled(task, attemptId)).toMatchObject({ outcome: 'stopped', code: 'user_stopped' });
    expect(await stage.record(task)).toMatchObject({ status: 'interrupted' });
    expect(await task.query(incidentsQuery)).toMatchObject([{ code: 'stop_unconfirmed', decision: 'ended' }]);
    expect(stage.host.orders).toHaveLength(1);
  });
});
