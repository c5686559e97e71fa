import { decideTask, dispatchTask, stopTask } from '../../client/index';
import { waitSettled } from '../../client/wait';
import type { Session } from '../../client/session';
import { CLEAN_TREE } from '../../contract/shell';
import { checkpoint, done, verdict } from '../helpers/checkpoint';
import { deliveriesOn, failed, said } from '../helpers/deliveries';
import { idOf, Stage } from '../helpers/stage';

let stage: Stage;
let session: Session;
let on: ReturnType<typeof deliveriesOn>;
beforeAll(async () => {
  stage = await Stage.open();
  session = { ...stage.session, env: { PERDURE_CODEX_BIN: process.execPath } };
  on = deliveriesOn(stage);
});
afterAll(() => stage.close());

const quiet = () => undefined;
const hinted = (words: string) => expect.stringContaining(words) as string;

/** Supervises a task and waits as a caller does. */
async function settled(script: object[], supervise: object = {}) {
  const task = await on.create();
  on.script(...script.map((each) => ('taskId' in each ? { ...each, taskId: idOf(task) } : each)));
  const { attemptId } = await on.supervise(task, { supervise });
  const outcome = await waitSettled(stage.session, { taskId: idOf(task), attemptId }, quiet);
  return { task, id: idOf(task), outcome };
}

describe('a delivery that rests', () => {
  it('is no success where its budget is used up: the code is that of the budget, the words are those of why', async () => {
    const { task, id, outcome } = await settled([checkpoint('x')], { budget: { attempts: 1 } });
    expect(outcome).toMatchObject({
      ...{ success: false, code: 'attempt_budget', taskStatus: 'interrupted', retryable: false, taskId: id },
      error: 'The delivery is paused: 1 of 1 attempts are used up.',
      hint: hinted(`perdure decide ${id} --continue --attempts N`),
      ...{ threadId: expect.any(String) as string, observation: expect.any(String) as string },
    });
    expect((await on.rest(task)).why.sentence).toBe('success' in outcome && !outcome.success ? outcome.error : '');
    expect(await dispatchTask(session, { taskId: id })).toMatchObject({
      ...{ success: false, code: 'budget_exhausted', hint: hinted(`perdure decide ${id} --continue --attempts N`) },
    });
    expect(await decideTask(session, id, { decision: 'continue', raise: { tokens: 5 } })).toMatchObject({
      ...{ code: 'budget_exhausted', hint: hinted(`perdure decide ${id} --continue --attempts N`) },
    });
    expect(await decideTask(session, id, { decision: 'accept' })).toMatchObject({
      ...{ code: 'NOTHING_TO_DECIDE', hint: hinted(`perdure decide ${id} --continue`) },
    });
  });

  it('is no success where the last attempt failed and its budget is used up', async () => {
    const { outcome } = await settled([failed()], { budget: { attempts: 1 } });
    expect(outcome).toMatchObject({ success: false, code: 'attempt_budget', error: hinted('is paused') });
  });

  it('asks a person with a code of its own', async () => {
    const question = checkpoint('x', { status: 'blocked', nextStep: null, question: 'Which word?' });
    const { id, outcome } = await settled([question]);
    expect(outcome).toMatchObject({
      ...{ success: false, code: 'input_required', error: 'The task is interrupted: Which word?', retryable: false },
      hint: hinted(`perdure decide ${id} --continue --note`),
    });
  });

  it('does not blame a report of the agent for a review without a verdict', async () => {
    const unsure = verdict('x', { verdict: 'inconclusive', findings: ['no way to tell'] });
    const { outcome } = await settled([done('x'), unsure], { verify: true });
    expect(outcome).toMatchObject({ code: 'input_required', error: 'The task is interrupted: no way to tell' });
  });

  it('that was stopped is told as the stop that it was', async () => {
    const task = await on.create();
    stage.host.run = stage.host.hold;
    const { attemptId } = await on.supervise(task);
    await stage.orderOf(attemptId);
    const outcome = waitSettled(stage.session, { taskId: idOf(task), attemptId }, quiet);
    await stopTask(session, { taskId: idOf(task) }, quiet);
    expect(await outcome).toMatchObject({ success: false, code: 'user_stopped', taskStatus: 'interrupted' });
  });
});

describe('a dispatch of the client', () => {
  const policy = { sandbox: 'read-only', model: 'm' } as const;
  const home = { sandbox: 'workspace-write', model: null } as const;

  async function policiesAfter(...dispatches: object[]) {
    const task = await stage.create();
    for (const each of [{ policy }, ...dispatches]) {
      on.script(failed());
      const accepted = await dispatchTask(session, { taskId: idOf(task), ...each });
      if (!('attemptId' in accepted)) throw new Error(JSON.stringify(accepted));
      await stage.settled(task, accepted.attemptId);
    }
    return on.ordersOf(task).map((order) => order.policy);
  }

  it('goes on in the kept thread under its sandbox and model, unless a flag says otherwise', async () => {
    const orders = await policiesAfter({}, { policy: { model: 'n' } }, {});
    expect(orders).toEqual([policy, policy, { ...policy, model: 'n' }, { ...policy, model: 'n' }]);
  });

  it('takes the defaults of the home for a fresh thread', async () => {
    expect(await policiesAfter({ replaceThread: true })).toEqual([policy, home]);
  });

  it('says that the acceptance criteria were not checked, and checks them when it is told to', async () => {
    const task = await on.create();
    const id = idOf(task);
    on.script(said({ all: 'done' }));
    const wait = async (settings: object) => {
      const accepted = await dispatchTask(session, { taskId: id, ...settings });
      if (!('attemptId' in accepted)) throw new Error(JSON.stringify(accepted));
      return waitSettled(stage.session, { taskId: id, attemptId: accepted.attemptId }, quiet);
    };
    const unchecked = hinted(`were not checked; \`perdure dispatch ${id} --check\``);
    expect(await wait({})).toMatchObject({ success: true, taskStatus: 'in_progress', warnings: [unchecked] });
    expect(await stopTask(session, { taskId: id }, quiet)).toMatchObject({
      ...{ code: 'TASK_NOT_RUNNING', hint: hinted(`perdure task complete ${id} --result`) },
    });
    const checked = await wait({ completion: 'criteria' });
    expect(checked).toMatchObject({ success: true, taskStatus: 'completed' });
    expect(checked).not.toHaveProperty('warnings');
  });

  it('warns of a clean tree that no sandbox lets the agent leave', async () => {
    const task = await stage.create({ acceptance: [CLEAN_TREE] });
    on.script(failed());
    // Before there is a thread nobody is asked what the task holds: `run` warns by itself.
    await stage.settle(task);
    const accepted = await dispatchTask(session, { taskId: idOf(task) });
    expect(accepted).toMatchObject({ warnings: [hinted('--sandbox danger-full-access')] });
  });
});
