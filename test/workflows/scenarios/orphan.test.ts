import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { dispatchTask, setTaskStatus } from '../../../client/index';
import type { RunOrder } from '../../../contract/activities';
import type { StatusChange } from '../../../contract/task';
import { callerOf, runToEnd } from '../../helpers/caller';
import { until } from '../../helpers/dev-server';
import { goodReport } from '../../helpers/fake-host';
import { idOf, Stage } from '../../helpers/stage';

const DEAD = () => Promise.resolve({ liveness: 'dead' as const, evidence: ['nothing is left of it'] });

describe('a dispatch of a task that says in_progress', () => {
  let stage: Stage;
  let isBlind = false;
  beforeAll(async () => {
    stage = await Stage.open({
      play: (real) => ({
        ...real,
        findThreadHolder: (order) => {
          if (isBlind) throw ApplicationFailure.nonRetryable('the server does not answer');
          return real.findThreadHolder(order);
        },
      }),
    });
  });
  afterEach(() => {
    isBlind = false;
    stage.host.run = (order) => goodReport(order);
    stage.host.probe = DEAD;
  });
  afterAll(() => stage.close());

  const orphaned = async () => {
    stage.host.run = (order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
    const task = await stage.create();
    const { threadId } = await stage.settle(task);
    stage.host.run = (order) => goodReport(order);
    return { task, taskId: idOf(task), threadId };
  };
  const claimed = async (change: Omit<StatusChange, 'status'>) => {
    const task = await stage.create();
    await setTaskStatus(callerOf(stage), idOf(task), { status: 'in_progress', ...change });
    return { task, taskId: idOf(task) };
  };
  const convergences = async (task: Parameters<Stage['record']>[0]) =>
    (await stage.record(task)).activities.filter(({ detail }) => detail.code === 'no_executor');
  const dispatch = (taskId: string) => dispatchTask(callerOf(stage), { taskId });
  const isLive = (taskId: string) => ({ success: false, code: 'TASK_NOT_DISPATCHABLE', taskId, retryable: true });

  it('and that nothing executes is one call: failed, retried in the stored thread, settled (SC10, OR2, OR4, DS8, RN4)', async () => {
    const { task, taskId, threadId } = await orphaned();
    const settled = await runToEnd(callerOf(stage), taskId);
    expect(settled).toMatchObject({ success: true, observation: 'done', threadId, taskStatus: 'in_progress' });
    const [failed, ...others] = await convergences(task);
    expect(others).toEqual([]);
    expect(failed).toMatchObject({ actor: 'tester', detail: { type: 'failed', from: 'in_progress', to: 'failed' } });
    expect((await stage.record(task)).failureReason).toContain('no_executor');
    expect(stage.host.orders.at(-1)).toMatchObject({ task: { taskId }, mode: 'resume', threadId });
  });

  it('leaves a run alone that another replica has (SC11, OR5, OR15, DS4)', async () => {
    const executor = await stage.create();
    const order = await stage.hold(executor);
    const isRunning = ({ attemptId }: { attemptId: string }) => attemptId === order.attemptId;
    stage.host.probe = (asked) =>
      isRunning(asked) ? Promise.resolve({ liveness: 'alive', evidence: ['process 17'] }) : DEAD();
    const { task, taskId } = await claimed({ runId: order.attemptId });
    const before = await stage.record(task);
    expect(await dispatch(taskId)).toMatchObject(isLive(taskId));
    expect(await stage.record(task)).toEqual(before);
    expect(stage.host.stopped).not.toContain(order.attemptId);
    stage.host.release(order);
    expect(await stage.settled(executor, order.attemptId)).toMatchObject({ outcome: 'completed' });
  });

  it('leaves a run alone that only holds the bound thread (SC11, OR5, OR6, OR15)', async () => {
    const executor = await stage.create();
    const { threadId } = await stage.settle(executor);
    const order = await stage.hold(executor);
    const { task, taskId } = await claimed({ threadId: threadId ?? '' });
    const before = await stage.record(task);
    expect(await dispatch(taskId)).toMatchObject(isLive(taskId));
    expect(await stage.record(task)).toEqual(before);
    expect(stage.host.stopped).not.toContain(order.attemptId);
    stage.host.release(order);
    expect(await stage.settled(executor, order.attemptId)).toMatchObject({ outcome: 'completed', threadId });
  });

  it('is refused when the host cannot be asked, and writes nothing (SC12, OR7, DS13)', async () => {
    const { task, taskId } = await orphaned();
    const before = await stage.record(task);
    stage.host.probe = () => Promise.reject(ApplicationFailure.nonRetryable('the disk is on fire'));
    expect(await dispatch(taskId)).toMatchObject(isLive(taskId));
    expect(await stage.record(task)).toEqual(before);
  });

  it('is refused when the server cannot be asked, and writes nothing (SC12, OR7, OR18 (P))', async () => {
    const { task, taskId } = await claimed({ threadId: randomUUID() });
    const before = await stage.record(task);
    isBlind = true;
    expect(await dispatch(taskId)).toMatchObject(isLive(taskId));
    expect(await stage.record(task)).toEqual(before);
    isBlind = false;
    expect(await runToEnd(callerOf(stage), taskId)).toMatchObject({ success: true });
  });

  it.each(['interrupted', 'in_progress'] as const)(
    'follows the status that it finds, %s, when the task changed while it was judged (SC12, OR3, OR16 (P), DS8)',
    async (status) => {
      const { task, taskId } = await orphaned();
      const asked: unknown[] = [];
      let answer: () => void = () => undefined;
      const judged = new Promise<void>((resolve) => (answer = resolve));
      stage.host.probe = async (order) => {
        asked.push(order);
        await judged;
        return DEAD();
      };
      const dispatching = runToEnd(callerOf(stage), taskId);
      await until(() => asked.length > 0);
      await setTaskStatus(callerOf(stage), taskId, { status: 'interrupted', summary: 'Which colour?' });
      if (status === 'in_progress') await setTaskStatus(callerOf(stage), taskId, { status });
      answer();
      const isResumed = status === 'interrupted';
      expect(await dispatching).toMatchObject(isResumed ? { success: true } : isLive(taskId));
      expect(await convergences(task)).toEqual([]);
      expect(await stage.lastAttempt(task)).toMatchObject(isResumed ? { mode: 'resume' } : { number: 1 });
    },
  );

  it('is refused to the run that a dispatch gave the task to (SC13, DS15, TS6)', async () => {
    const task = await stage.create();
    const answers: unknown[] = [];
    stage.host.run = async (order: RunOrder) => {
      answers.push((await stage.record(task)).status, await dispatch(order.task.taskId));
      return goodReport(order);
    };
    await stage.settle(task);
    expect(answers).toMatchObject(['in_progress', isLive(idOf(task))]);
    expect(await stage.record(task)).toMatchObject({ status: 'in_progress' });
    expect(stage.host.orders.filter(({ task: { taskId } }) => taskId === idOf(task))).toHaveLength(1);
  });

  it('is refused to the run that claimed the task by itself (SC13, DS15, TS4, OR5)', async () => {
    const [executor, own] = [await stage.create(), await stage.create()];
    const threadId = randomUUID();
    const answers: unknown[] = [];
    stage.host.probe = () => Promise.resolve({ liveness: 'alive', evidence: ['process 17'] });
    stage.host.run = async (order: RunOrder) => {
      const claim = { status: 'in_progress', runId: order.attemptId, threadId } as const;
      answers.push(await setTaskStatus(callerOf(stage), idOf(own), claim), await dispatch(idOf(own)));
      return goodReport(order, { threadId });
    };
    const { attemptId } = await stage.settle(executor);
    expect(answers).toMatchObject([{ success: true, status: 'in_progress' }, isLive(idOf(own))]);
    const context = { thread_id: threadId, run_id: attemptId };
    expect(await stage.record(own)).toMatchObject({ status: 'in_progress', context });
    expect(await stage.record(executor)).toMatchObject({ status: 'in_progress' });
  });
});
