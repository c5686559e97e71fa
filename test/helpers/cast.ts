import type { WorkflowHandle } from '@temporalio/client';
import type { RunOrder, RunReport } from '../../contract/activities';
import { taskWorkflowId } from '../../contract/names';
import { attemptsQuery } from '../../contract/run';
import { whyQuery } from '../../contract/task';
import { goodReport } from './fake-host';
import type { Stage } from './stage';
import { until } from './until';

type State = 'pending' | 'running' | 'resumed' | 'recovery' | 'failed' | 'outcome' | 'review' | 'completed';

/** Tasks on a stage, each brought into the state that a test needs. */
export class Cast {
  private readonly runs = new Map<string, (order: RunOrder) => Promise<RunReport> | RunReport>();

  constructor(readonly stage: Stage) {
    stage.host.run = (order) => (this.runs.get(order.task.taskId) ?? goodReport)(order);
  }

  handle(taskId: string): WorkflowHandle {
    return this.stage.client.workflow.getHandle(taskWorkflowId({ tenantId: 'default', taskId }));
  }

  /** Makes a task and brings it into a state; answers its id. */
  async make(taskId: string, state: State, change: Parameters<Stage['create']>[0] = {}): Promise<string> {
    const task = await this.stage.create({ ...change, id: taskId, requireReview: state === 'review' });
    switch (state) {
      case 'pending':
        break;
      case 'running':
        await this.hold(taskId);
        break;
      case 'resumed':
        await this.end(taskId, { outcome: 'failed', code: 'RUN_FAILED', error: 'it did not work' });
        await this.hold(taskId);
        break;
      case 'recovery':
        await this.end(taskId, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
        break;
      case 'failed':
        await this.end(taskId, { outcome: 'failed', code: 'RUN_FAILED', error: 'it did not work' });
        break;
      case 'outcome':
        await this.stage.settle(task);
        break;
      case 'review':
      case 'completed':
        await this.stage.settle(task, { completion: 'criteria' });
    }
    return taskId;
  }

  /** Waits until nothing runs for a task any more. */
  async rest(taskId: string): Promise<void> {
    const task = this.handle(taskId);
    await until(async () => (await task.query(attemptsQuery)).every(({ settledAt }) => settledAt !== null));
    await until(async () => (await task.describe()).type === 'task');
  }

  /** A task without what only one task can have: equal for tasks that went the same way. */
  async state(taskId: string): Promise<object> {
    const task = this.handle(taskId);
    const { status, result, failureReason, priority, activities } = await this.stage.record(task);
    const { attention, phase, next } = await task.query(whyQuery);
    const summaries = activities.map(({ summary, detail }) => [detail.type, summary]);
    return { status, result, failureReason, priority, summaries, attention, phase, next };
  }

  private async end(taskId: string, report: Partial<RunReport>): Promise<void> {
    this.runs.set(taskId, (order) => goodReport(order, report));
    await this.stage.settle(this.handle(taskId));
    this.runs.delete(taskId);
  }

  private async hold(taskId: string): Promise<void> {
    this.runs.set(taskId, this.stage.host.hold);
    const { attemptId } = await this.stage.dispatch(this.handle(taskId));
    await until(() => this.stage.host.orders.some((order) => order.attemptId === attemptId));
  }
}
