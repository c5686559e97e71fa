import type { WorkflowHandle } from '@temporalio/client';
import type { RunOrder, RunReport } from '../../contract/activities';
import { attemptsQuery, type Dispatch } from '../../contract/run';
import { whyQuery } from '../../contract/task';
import { goodReport } from './fake-host';
import { until } from './server-process';
import { idOf, type Stage } from './stage';

type Answer = object | Partial<RunReport>;

export const said = (report: object): Partial<RunReport> => {
  const text = JSON.stringify(report);
  return { observation: { text, bytes: text.length } };
};
export const failed = (change: Partial<RunReport> = {}): Partial<RunReport> => ({
  outcome: 'failed',
  code: 'RUN_FAILED',
  error: 'no luck',
  observation: null,
  ...change,
});

/** What tests of deliveries do on a stage. */
export function deliveriesOn(stage: Stage) {
  /** What the host reports of one attempt after the other; the last one again and again. */
  const script = (...answers: Answer[]) => {
    let next = 0;
    stage.host.run = (order) => {
      const answer = answers[Math.min(next, answers.length - 1)] ?? {};
      next += 1;
      return goodReport(order, 'version' in answer ? said(answer) : answer);
    };
  };
  const create = () => stage.create({ acceptance: ['make test'] });
  const supervise = (task: WorkflowHandle, change: Partial<Dispatch> = {}) =>
    stage.dispatch(task, { supervise: {}, ...change });
  /** Waits until nothing runs the task and nothing will. */
  const rest = async (task: WorkflowHandle) => {
    await until(async () => {
      const { attention } = await task.query(whyQuery);
      return !['running', 'stopping', 'waiting'].includes(attention);
    });
    return {
      why: await task.query(whyQuery),
      task: await stage.record(task),
      attempts: await task.query(attemptsQuery),
    };
  };
  const ordersOf = (task: WorkflowHandle): RunOrder[] =>
    stage.host.orders.filter((order) => order.task.taskId === idOf(task));

  return { script, create, supervise, rest, ordersOf };
}
