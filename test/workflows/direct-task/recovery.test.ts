import { ApplicationFailure } from '@temporalio/common';
import type { WorkflowHandle } from '@temporalio/client';
import { decideDirectUpdate } from '../../../contract/direct';
import { workersUpgradedSignal } from '../../../contract/run';
import {
  endWhenStopped,
  holdDirect,
  loseExecutor,
  orderOf,
  resultOf,
  snapshotOf,
  startDirect,
  statusIs,
  stop,
} from '../../helpers/direct';
import { goodReport } from '../../helpers/fake-host';
import { codeOf, Stage } from '../../helpers/stage';
import { until } from '../../helpers/until';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});
beforeEach(() => {
  stage.host.run = (order) => goodReport(order);
});

const newest = ({ workflowId }: WorkflowHandle) => stage.client.workflow.getHandle(workflowId);

describe('a direct task whose executor was lost', () => {
  it('stays open with its evidence, and asks a person (DW-4, RC-4)', async () => {
    loseExecutor(stage);
    const direct = await startDirect(stage);
    const task = await statusIs(direct, 'recovery_required');
    expect(task).toMatchObject({
      code: 'interrupted_owner',
      invocationCount: 1,
      receipt: null,
      incidents: [
        {
          code: 'interrupted_owner',
          decidedAt: null,
          evidence: ['the executor died without a result', 'runner 42 is dead'],
        },
      ],
    });
    const shown = await direct.describe();
    expect(shown.status.name).toBe('RUNNING');
    const values = shown.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(values)).toMatchObject({ PerdureStatus: 'recovery_required', PerdureTenant: 'default' });
    expect(stage.host.orders.filter((order) => order.task.taskId === task.id)).toHaveLength(1);
    await direct.executeUpdate(decideDirectUpdate, { args: [{ decision: 'abandon', note: 'nothing came of it' }] });
    const ended = await resultOf(newest(direct));
    expect(ended).toMatchObject({ status: 'failed', code: 'interrupted_owner', decision: { decision: 'abandon' } });
    expect(ended.incidents).toMatchObject([{ decidedAt: expect.any(String) }]);
    expect(ended.receipt).not.toBeNull();
  });

  it('is completed by a person who accepts its work, and decided once', async () => {
    loseExecutor(stage);
    const direct = await startDirect(stage);
    await statusIs(direct, 'recovery_required');
    const refused = direct.executeUpdate(decideDirectUpdate, { args: [{ decision: 'accept', actor: 'run:x' }] });
    expect(await codeOf(refused)).toBe('HUMAN_REQUIRED');
    await direct.executeUpdate(decideDirectUpdate, { args: [{ decision: 'accept' }] });
    const ended = await resultOf(newest(direct));
    expect(ended).toMatchObject({ status: 'completed', code: null, decision: { decision: 'accept' } });
  });

  it('can be stopped by its handle, and ends as stopped (DT-23, DT-30)', async () => {
    loseExecutor(stage);
    const direct = await startDirect(stage);
    const { handle } = await statusIs(direct, 'recovery_required');
    expect(await stop(direct)).toMatchObject({ status: 'stopping', changed: true });
    const ended = await resultOf(newest(direct));
    expect(ended).toMatchObject({ status: 'stopped', error: null, invocationCount: 1 });
    expect(stage.host.stopped).toContain(handle?.attemptId);
  });

  it('whose launch the host refused for good keeps its handle, so that a stop reaches it (11.5, test 11)', async () => {
    stage.host.run = () => {
      throw ApplicationFailure.nonRetryable('the launch is not confirmed', 'worker_launch_unconfirmed');
    };
    const direct = await startDirect(stage);
    const task = await statusIs(direct, 'recovery_required');
    expect(task.handle).not.toBeNull();
    expect(task.incidents[0]?.evidence.join()).toContain('the launch is not confirmed');
    await stop(direct);
    expect(await resultOf(newest(direct))).toMatchObject({ status: 'stopped' });
  });

  it('while a stop waits goes on with that stop (11.5, test 11)', async () => {
    endWhenStopped(stage, { outcome: 'interrupted_owner', code: 'interrupted_owner', error: 'gone', exit: null });
    const direct = await startDirect(stage);
    await orderOf(stage, direct);
    await stop(direct);
    const ended = await resultOf(newest(direct));
    expect(ended).toMatchObject({ status: 'stopped', invocationCount: 1, incidents: [{ code: 'interrupted_owner' }] });
  });
});

describe('a direct task that rolls over in mid-run', () => {
  it('is adopted under the same attempt and deadline, and gives one result (DW-2, DW-9, tests 12 and 13)', async () => {
    const deadlineAt = new Date(Date.now() + 3_600_000).toISOString();
    const { direct, order } = await holdDirect(stage, { deadlineAt });
    const { runId } = await direct.describe();
    await direct.signal(workersUpgradedSignal);
    await until(async () => (await newest(direct).describe()).runId !== runId);
    const adopted = newest(direct);
    expect(await snapshotOf(adopted)).toMatchObject({ status: 'running', invocationCount: 1, deadlineAt });
    stage.host.release(order);
    const task = await resultOf(adopted);
    expect(task).toMatchObject({ status: 'completed', handle: { attemptId: order.attemptId }, invocationCount: 1 });
    expect(stage.host.orders.filter(({ attemptId }) => attemptId === order.attemptId)).toHaveLength(1);
    expect(new Set(stage.host.orders.filter(({ task: { taskId } }) => taskId === task.id)).size).toBe(1);
  });

  it('with a stop under way sends the stop again (DW-12)', async () => {
    const { direct, order } = await holdDirect(stage);
    await direct.signal(workersUpgradedSignal);
    await stop(newest(direct));
    const task = await resultOf(newest(direct));
    expect(task).toMatchObject({ status: 'stopped', handle: { attemptId: order.attemptId } });
  });
});
