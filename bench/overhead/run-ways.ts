import { workersUpgradedSignal } from '../../contract/run';
import { followerOf } from '../../scripts/stage/follower';
import { lease, newestRun, task, type Way } from './parts';
import { FAIL, GATE, openGate, stampOf } from './stub';
import { sweep } from './sweep';
import type { Dispatched, Tasks } from './tasks';
import { listed, until } from './visible';

export const stopped: Way = async (tasks, signal) => {
  const run = await tasks.hold();
  await stampOf(tasks.directoryOf(run), signal);
  await tasks.stop(run);
  return [task(tasks, run.taskId)];
};

export const retried: Way = async (tasks) => {
  const taskId = await tasks.create({ description: FAIL });
  const first = await tasks.dispatch(taskId);
  await tasks.ended(first);
  await tasks.complete(taskId, await tasks.settled(await tasks.dispatch(taskId)));
  return [task(tasks, taskId, 'task'), lease(first)];
};

export const reopened: Way = async (tasks) => {
  const first = await tasks.run();
  await tasks.settled(first);
  const { taskId } = first;
  await tasks.complete(taskId, await tasks.settled(await tasks.runAgain(taskId)));
  return [task(tasks, taskId, 'task'), lease(first)];
};

/** Starts a run that waits at its gate, once its provider runs and a worker follows it. */
async function atGate(tasks: Tasks, signal: AbortSignal): Promise<Dispatched> {
  const run = await tasks.run(GATE);
  await stampOf(tasks.directoryOf(run), signal);
  return run;
}

export const restored: Way = async (tasks, signal) => {
  const run = await atGate(tasks, signal);
  const endedRunId = await newestRun(tasks, run.taskId);
  await (await tasks.handle(run.taskId)).terminate('by the bench');
  const { workflowId } = task(tasks, run.taskId);
  const ended = `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Terminated'`;
  await listed(await tasks.stage.session.client(), ended);
  const sweepId = await sweep(tasks, run.taskId, 'restored');
  await openGate(tasks.stage.root, run.attemptId);
  await tasks.settled(run);
  return [
    { name: 'task', workflowId, endedRunId },
    { name: 'sweep', workflowId: sweepId },
  ];
};

export const rolledOver: Way = async (tasks, signal) => {
  const run = await atGate(tasks, signal);
  const before = await newestRun(tasks, run.taskId);
  await (await tasks.handle(run.taskId)).signal(workersUpgradedSignal);
  await until('the run is followed again', async () => {
    const follower = await followerOf(tasks.stage.session, run.taskId);
    return typeof follower?.pid === 'number' && (await newestRun(tasks, run.taskId)) !== before;
  });
  await openGate(tasks.stage.root, run.attemptId);
  await tasks.settled(run);
  return [task(tasks, run.taskId)];
};
