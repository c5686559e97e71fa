import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { dispatchTask } from '../../../client/index';
import { callerOf, waitFor } from '../../helpers/caller';
import { goodReport } from '../../helpers/fake-host';
import { idOf, Stage } from '../../helpers/stage';

describe('two dispatches at once from two processes', () => {
  let stage: Stage;
  let connections: Connection[];
  beforeAll(async () => {
    stage = await Stage.open();
    const { address } = stage.server;
    connections = await Promise.all([Connection.connect({ address }), Connection.connect({ address })]);
  });
  afterAll(async () => {
    for (const connection of connections) await connection.close();
    await stage.close();
  });

  const dispatchTwice = async (task: WorkflowHandle) => {
    stage.host.run = stage.host.hold;
    const callers = connections.map((connection) => callerOf(stage, new Client({ connection })));
    const answers = await Promise.all(callers.map((caller) => dispatchTask(caller, { taskId: idOf(task) })));
    const begun = answers.flatMap((answer) => (answer.success && 'attemptId' in answer ? [answer] : []));
    return { begun, refused: answers.filter(({ success }) => !success) };
  };
  const messages = (task: WorkflowHandle) => stage.host.orders.filter(({ task: { taskId } }) => taskId === idOf(task));

  it.each(['pending', 'orphaned'])(
    'of a task that is %s are one run, one refusal and one message (SC14, DS10, DS12, OR16 (P))',
    async (kind) => {
      const task = await stage.create();
      stage.host.run = (order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' });
      if (kind === 'orphaned') await stage.settle(task);
      const earlier = messages(task).length;
      const { begun, refused } = await dispatchTwice(task);
      expect(refused).toMatchObject([{ code: 'TASK_NOT_DISPATCHABLE', taskId: idOf(task) }]);
      expect(begun).toHaveLength(1);
      const [{ attemptId } = { attemptId: '' }] = begun;
      stage.host.release(await stage.orderOf(attemptId));
      const settled = await waitFor(callerOf(stage), { taskId: idOf(task), attemptId });
      expect(settled).toMatchObject({ success: true, taskStatus: 'in_progress' });
      expect(messages(task)).toHaveLength(earlier + 1);
      const { activities } = await stage.record(task);
      const failed = activities.filter(({ detail }) => detail.to === 'failed');
      expect(failed).toHaveLength(kind === 'orphaned' ? 1 : 0);
      expect(activities.filter(({ detail }) => detail.type === 'dispatch')).toHaveLength(earlier + 1);
    },
  );
});
