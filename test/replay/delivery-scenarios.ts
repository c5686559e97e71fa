import type { WorkflowHandle } from '@temporalio/client';
import { decideUpdate, type Decide } from '../../contract/decision';
import { stopUpdate } from '../../contract/run';
import { whyQuery } from '../../contract/task';
import { checkpoint, done, verdict } from '../helpers/checkpoint';
import { deliveriesOn, failed, said } from '../helpers/deliveries';
import { until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { idOf, type Stage } from '../helpers/stage';
import { scenario, type Scenario } from './scenario';

const decide = (task: WorkflowHandle, decision: Decide) => task.executeUpdate(decideUpdate, { args: [decision] });

/** Plays a delivery up to its first rest. */
async function begin(stage: Stage, answers: (id: string) => object[], change: object = {}) {
  const on = deliveriesOn(stage);
  const task = await on.create();
  on.script(...answers(idOf(task)));
  await on.supervise(task, change);
  return { on, task, id: idOf(task) };
}

/** Ways of supervised deliveries, of usage limits, and of lost attempts whose evidence was saved. */
export const deliveries: readonly Scenario[] = [
  scenario('supervised-to-the-end', ['dispatchTask', 'resumeCodex'], async (stage) => {
    const { on, task } = await begin(stage, (id) => [checkpoint(id), failed(), done(id)]);
    await on.rest(task);
    return task;
  }),
  scenario('supervised-and-reviewed', ['dispatchTask'], async (stage) => {
    const answers = (id: string) => [
      done(id),
      verdict(id, { verdict: 'refuted', findings: ['no test'] }),
      done(id),
      verdict(id),
    ];
    const { on, task } = await begin(stage, answers, { supervise: { verify: true } });
    await on.rest(task);
    return task;
  }),
  scenario('reports-not-accepted', ['task', 'dispatchTask'], async (stage) => {
    const { on, task, id } = await begin(stage, () => [said({ no: 'report' })]);
    await on.rest(task);
    on.script(done(id));
    await decide(task, { decision: 'retry' });
    await on.rest(task);
    return task;
  }),
  scenario('budget-used-up-and-raised', ['task', 'dispatchTask'], async (stage) => {
    const { on, task, id } = await begin(stage, (of) => [checkpoint(of)], { supervise: { budget: { tokens: 50 } } });
    await on.rest(task);
    on.script(done(id));
    await decide(task, { decision: 'continue', raise: { tokens: 500 }, note: 'Be brief.' });
    await on.rest(task);
    return task;
  }),
  scenario('stopped-in-a-back-off', ['dispatchTask'], async (stage) => {
    const { on, task } = await begin(stage, () => [failed()]);
    await until(async () => (await task.query(whyQuery)).attention === 'waiting');
    await task.executeUpdate(stopUpdate, { args: [{}] });
    await on.rest(task);
    return task;
  }),
  scenario('waits-for-the-usage-limit', ['dispatchTask'], async (stage) => {
    const on = deliveriesOn(stage);
    const task = await stage.create();
    const limit = failed({ code: 'usage_limit', error: 'no more for now', resetsAt: new Date().toISOString() });
    stage.host.run = (order) => goodReport(order, order.mode === 'start' ? limit : {});
    await stage.dispatch(task);
    await on.rest(task);
    return task;
  }),
  scenario('lost-with-evidence-and-retried', ['task', 'dispatchTask', 'failOrphan'], async (stage) => {
    const on = deliveriesOn(stage);
    const task = await stage.create();
    on.script(failed({ outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null }), {});
    await stage.dispatch(task);
    await on.rest(task);
    await decide(task, { decision: 'retry' });
    await on.rest(task);
    return task;
  }),
];
