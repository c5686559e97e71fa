import { execFileSync } from 'node:child_process';
import { addActivityUpdate, setStatusUpdate, updateUpdate, whyQuery } from '../../contract/task';
import { decideUpdate } from '../../contract/decision';
import { reopenUpdate, stopUpdate } from '../../contract/run';
import { temporalBinary, until } from '../helpers/dev-server';
import { goodReport } from '../helpers/fake-host';
import { codeOf, Stage } from '../helpers/stage';

describe('a task under an operator who does anything', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.host.run = (order) => goodReport(order);
    stage.host.probe = () => Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  });
  afterAll(() => stage.close());

  it('keeps a result that a bound would cut in the middle of a character, or that no store takes', async () => {
    const text = `${'x'.repeat(3_999)}😀 a\u0000b \ud800 c`;
    stage.host.run = (order) => goodReport(order, { observation: { text, bytes: text.length } });
    const task = await stage.create();
    await stage.settle(task, { completion: 'criteria' });
    expect(await stage.record(task)).toMatchObject({ status: 'completed', result: 'x'.repeat(3_999) });
  });

  it('refuses a context that only the sum of two updates makes too long', async () => {
    const task = await stage.create();
    const grow = (key: string) =>
      task.executeUpdate(updateUpdate, { args: [{ context: { [key]: 'x'.repeat(10_000) } }] });
    await grow('a');
    expect(await codeOf(grow('b'))).toBe('INVALID_ARGUMENT');
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('refuses a thread that can be none, and never makes a workflow id of it (TR5)', async () => {
    const task = await stage.create();
    const bind = task.executeUpdate(updateUpdate, { args: [{ context: { thread_id: 'x'.repeat(1_100) } }] });
    expect(await codeOf(bind)).toBe('INVALID_ARGUMENT');
    const odd = await stage.create({ context: { thread_id: 'x'.repeat(1_100) } });
    await odd.executeUpdate(setStatusUpdate, { args: [{ status: 'in_progress' }] });
    await odd.executeUpdate(setStatusUpdate, { args: [{ status: 'failed', failureReason: 'f' }] });
    expect(await stage.settle(odd)).toMatchObject({ outcome: 'completed', mode: 'retry' });
  });

  it('goes on following a run whose thread lease somebody terminated', async () => {
    const task = await stage.create();
    stage.host.run = (order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED' });
    const { threadId } = await stage.settle(task);
    const order = await stage.hold(task);
    await stage.client.workflow.getHandle(`thread/codex/${String(threadId)}`).terminate('by mistake');
    stage.host.release(order);
    expect(await stage.settled(task, order.attemptId)).toMatchObject({ outcome: 'completed', spawns: 1 });
  });

  it('comes to the same attempt when its first phase is reset, so that the fence holds (GU-1)', async () => {
    const task = await stage.create();
    const first = (await task.describe()).runId;
    const order = await stage.hold(task);
    const run = ['--workflow-id', task.workflowId, '--run-id', first, '--event-id', '4', '--reason', 'by mistake'];
    execFileSync(temporalBinary(), ['workflow', 'reset', ...run, '--address', stage.server.address], {
      stdio: 'ignore',
    });
    stage.host.release(order);
    await stage.settled(task, order.attemptId);
    const ids = new Set(
      stage.host.orders.filter((each) => each.task.taskId === order.task.taskId).map((each) => each.attemptId),
    );
    expect([...ids]).toEqual([order.attemptId]);
  });

  it('takes a report that says nothing for an executor that died, and one of a newer host for what it says (SR9)', async () => {
    stage.host.run = () => ({ nonsense: true }) as never;
    const task = await stage.create();
    expect(await stage.settle(task)).toMatchObject({ outcome: 'interrupted_owner' });
    stage.host.run = (order) => ({ ...goodReport(order), mood: 'good', endedAt: 'yesterday' }) as never;
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('starts the next dispatch after a stop that fell into a reopening', async () => {
    const task = await stage.create();
    await stage.settle(task, { completion: 'criteria' });
    await Promise.allSettled([
      task.executeUpdate(reopenUpdate, { args: [{}] }),
      task.executeUpdate(stopUpdate, { args: [{}] }),
    ]);
    await until(async () => (await stage.record(task)).status === 'in_progress');
    expect(await stage.settle(task)).toMatchObject({ outcome: 'completed' });
  });

  it('speaks of a dead executor only while that is the last attempt, and decides nothing else by it', async () => {
    stage.host.run = stage.host.hold;
    const task = await stage.create();
    const order = await stage.hold(task);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result: 'by hand' }] });
    stage.host.release(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    await stage.settled(task, order.attemptId);
    stage.host.run = (next) => goodReport(next);
    await stage.settle(task);
    expect(await task.query(whyQuery)).toMatchObject({ attention: 'outcome' });
    expect(await codeOf(task.executeUpdate(decideUpdate, { args: [{ decision: 'abandon' }] }))).toBe(
      'NOTHING_TO_DECIDE',
    );
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'still answers' }] });
  });
});
