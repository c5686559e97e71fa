import type { WorkflowHandle } from '@temporalio/client';
import { decideUpdate, type Decide } from '../../contract/decision';
import { addActivityUpdate, setStatusUpdate } from '../../contract/task';
import { codeOf, Stage } from '../helpers/stage';

describe('a task that requires review', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage.close());

  const decide = (task: WorkflowHandle, decision: Decide) => task.executeUpdate(decideUpdate, { args: [decision] });
  const propose = async (task: WorkflowHandle, result: string): Promise<string> => {
    await stage.settle(task);
    const answer = await task.executeUpdate(setStatusUpdate, { args: [{ status: 'completed', result }] });
    expect(answer.status).toBe('review');
    const { facts } = await task.query<{ facts: string[] }>('why');
    return facts.find((fact) => fact.startsWith('open review '))?.slice('open review '.length) ?? '';
  };

  it('goes to review with its result proposed, says so, and cannot be dispatched (RV4, RV5, RV7 (P), RV11 (P), DS19 (P))', async () => {
    const task = await stage.create({ requireReview: true });
    await propose(task, 'a draft');
    expect(await stage.record(task)).toMatchObject({ status: 'review', result: 'a draft' });
    expect(await codeOf(stage.dispatch(task))).toBe('TASK_IN_REVIEW');
  });

  it('is completed by an approval, and a second approval changes nothing (RV7 (P), P113)', async () => {
    const task = await stage.create({ requireReview: true });
    const reviewId = await propose(task, 'a draft');
    const answers = await Promise.all([
      decide(task, { decision: 'approve' }),
      decide(task, { decision: 'approve', reviewId }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const { activities } = await stage.record(task);
    expect(activities.filter(({ detail }) => detail.type === 'decision')).toHaveLength(1);
  });

  it('runs once a round, and an approval of an older draft is refused (P113)', async () => {
    const task = await stage.create({ requireReview: true });
    const drafts: string[] = [];
    for (const round of [1, 2, 3]) {
      drafts.push(await propose(task, `draft ${String(round)}`));
      if (round < 3) await decide(task, { decision: 'send_back', note: `change ${String(round)}` });
    }
    const before = await stage.record(task);
    for (const reviewId of drafts.slice(0, 2)) {
      expect(await codeOf(decide(task, { decision: 'approve', reviewId }))).toBe('TASK_STATUS_CONFLICT');
    }
    expect(await stage.record(task)).toEqual(before);
    await decide(task, { decision: 'approve', reviewId: drafts[2] });
    expect(await stage.record(task)).toMatchObject({ status: 'completed', result: 'draft 3' });
    const id = task.workflowId.split('/').at(-1);
    const orders = stage.host.orders.filter((order) => order.task.taskId === id);
    expect(orders).toHaveLength(3);
    expect(orders.map(({ threadId }) => threadId).slice(1)).toEqual([orders[1]?.threadId, orders[1]?.threadId]);
    expect(orders[2]?.message).toContain('change 2');
  });

  it('is sent back as interrupted, with the feedback and its reason (RV7 (P), RV10 (P))', async () => {
    const task = await stage.create({ requireReview: true });
    await propose(task, 'a draft');
    await decide(task, { decision: 'send_back', note: 'name the file' });
    const { status, result, activities } = await stage.record(task);
    expect({ status, result }).toEqual({ status: 'interrupted', result: null });
    expect(activities.at(-1)).toMatchObject({ summary: 'name the file', detail: { reason: 'review_rejected' } });
  });

  it('is decided by no run, and by nobody when it is not in review (RV7 (P))', async () => {
    const task = await stage.create({ requireReview: true });
    expect(await codeOf(decide(task, { decision: 'approve' }))).toBe('NOTHING_TO_DECIDE');
    await propose(task, 'a draft');
    const actor = 'run:0199aaaa-bbbb-7ccc-8ddd-000000000000';
    expect(await codeOf(decide(task, { decision: 'approve', actor }))).toBe('HUMAN_REQUIRED');
    expect((await stage.record(task)).status).toBe('review');
  });

  it('takes input for an interrupted task into the next message, and only there (RV1, RV2, RV3, RV8 (P), SC6)', async () => {
    const task = await stage.create();
    await stage.settle(task);
    await task.executeUpdate(setStatusUpdate, { args: [{ status: 'interrupted', summary: 'which port?' }] });
    expect((await stage.record(task)).activities.at(-1)?.detail).toMatchObject({ reason: 'missing_input' });
    await task.executeUpdate(addActivityUpdate, { args: [{ summary: 'port 7233' }] });
    const first = await stage.lastAttempt(task);
    const second = await stage.settle(task);
    expect(second).toMatchObject({ mode: 'resume', threadId: first.threadId });
    const { message } = stage.host.orders.at(-1) ?? { message: '' };
    expect(message).toContain('which port?');
    expect(message).toContain('port 7233');
  });
});
