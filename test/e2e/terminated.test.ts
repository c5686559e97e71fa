import { taskWorkflowId } from '../../contract/names';
import { CountedProvider } from '../helpers/counted-provider';
import { DevServer, until } from '../helpers/dev-server';
import { Machine } from '../helpers/machine';

describe('a task whose workflow an operator terminated in mid-run', () => {
  let server: DevServer;
  let machine: Machine;
  let provider: CountedProvider;

  beforeAll(async () => {
    server = await DevServer.start();
    machine = await Machine.make(server);
    provider = new CountedProvider(machine.home.path);
    await machine.startWorker('all', { PERDURE_CODEX_BIN: provider.program });
  });
  afterAll(async () => {
    await machine.dispose();
    await server.stop();
  });

  it('is not shown as running, and its agent can still be stopped', async () => {
    const env = { PERDURE_CODEX_BIN: provider.program };
    await machine.begin(['task', 'create', '--id', 'X-1', '--title', 'Go'], { env });
    await machine.begin(['dispatch', 'X-1'], { env });
    await machine.nextRun();
    await until(() => provider.living().length > 0);
    const workflowId = taskWorkflowId({ tenantId: 'default', taskId: 'X-1' });
    await server.client.workflow.getHandle(workflowId).terminate('by mistake');

    expect(await machine.begin(['why', 'X-1'])).toMatchObject({ status: 0, attention: 'closed' });
    expect(provider.living()).toHaveLength(1);
    expect(await machine.begin(['stop', 'X-1'])).toMatchObject({ status: 0, stopped: true });
    expect(provider.living()).toEqual([]);
    expect(await machine.begin(['stop', 'X-1'])).toMatchObject({ status: 1, code: 'TASK_TERMINAL' });
  });

  it('comes back by itself with the sweep, and the agent that lives is adopted: one start in all', async () => {
    const env = { PERDURE_CODEX_BIN: provider.program };
    machine.sweepEvery(1_000);
    await machine.startWorker('orchestrator');
    const before = provider.starts().length;
    const known = machine.runs();
    await machine.begin(['task', 'create', '--id', 'X-2', '--title', 'Go'], { env });
    await machine.begin(['dispatch', 'X-2'], { env });
    const attemptId = await machine.nextRun(known);
    await until(() => provider.living().length > 0);
    const workflowId = taskWorkflowId({ tenantId: 'default', taskId: 'X-2' });
    await server.client.workflow.getHandle(workflowId).terminate('by mistake');
    await until(async () => (await server.client.workflow.getHandle(workflowId).describe()).type === 'dispatchTask');
    await until(async () => (await server.client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING');
    provider.release();
    await until(async () => (await machine.attempts('X-2'))[0]?.outcome === 'completed');
    expect(await machine.attempts('X-2')).toMatchObject([{ attemptId, spawns: 1 }]);
    expect(provider.starts()).toHaveLength(before + 1);
  });
});
