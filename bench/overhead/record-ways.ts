import { randomUUID } from 'node:crypto';
import { decideTask, setTaskStatus } from '../../client/index';
import { orphanWorkflowId, projectWorkflowId, taskWorkflowId } from '../../contract/names';
import { key, newestRun, task, type Way } from './parts';
import { sweep } from './sweep';
import { valueOf } from './tasks';
import { listed, rests } from './visible';

export const byProject: Way = async (tasks) => {
  const projectId = 'P-bench';
  const taskId = await tasks.create({ metadata: { projectId } });
  const first = await newestRun(tasks, taskId);
  await tasks.dispatchLater(taskId);
  await rests(await tasks.stage.session.client(), taskWorkflowId(key(tasks, taskId)), first);
  const { tenantId } = tasks.stage.session.home;
  return [task(tasks, taskId, 'task'), { name: 'queue', workflowId: projectWorkflowId({ tenantId, projectId }) }];
};

export const afterDependency: Way = async (tasks) => {
  const dependency = await tasks.create();
  const taskId = await tasks.create({ dependencies: [dependency] });
  const first = await newestRun(tasks, taskId);
  await tasks.dispatchLater(taskId, { whenReady: true, completion: 'criteria' });
  await tasks.settled(await tasks.dispatch(dependency, { completion: 'criteria' }));
  await rests(await tasks.stage.session.client(), taskWorkflowId(key(tasks, taskId)), first);
  return [task(tasks, taskId, 'dependant'), task(tasks, dependency, 'dependency')];
};

export const reviewed: Way = async (tasks) => {
  const taskId = await tasks.create({ requireReview: true });
  await tasks.settled(await tasks.dispatch(taskId, { completion: 'criteria' }));
  valueOf(await decideTask(tasks.stage.session, taskId, { decision: 'approve' }));
  return [task(tasks, taskId)];
};

export const cancelled: Way = async (tasks) => {
  const client = await tasks.stage.session.client();
  const taskId = await tasks.create();
  const child = await tasks.create({ parentId: taskId });
  await listed(client, `PerdureParent = '${taskId}' AND PerdureStatus = 'pending'`);
  valueOf(await setTaskStatus(tasks.stage.session, taskId, { status: 'cancelled' }));
  await listed(client, `PerdureParent = '${taskId}' AND PerdureStatus = 'cancelled'`);
  return [task(tasks, taskId, 'parent'), task(tasks, child, 'child')];
};

export const swept: Way = async (tasks) => {
  const taskId = await tasks.create();
  // Of a run that no host knows nothing could be proven.
  const claim = { status: 'in_progress', threadId: randomUUID() } as const;
  valueOf(await setTaskStatus(tasks.stage.session, taskId, claim));
  const { workflowId } = task(tasks, taskId);
  await listed(await tasks.stage.session.client(), `WorkflowId = '${workflowId}' AND PerdureAttention = 'claimed'`);
  const sweepId = await sweep(tasks, taskId, 'failed');
  return [
    task(tasks, taskId, 'task'),
    { name: 'sweep', workflowId: sweepId },
    { name: 'failOrphan', workflowId: orphanWorkflowId(key(tasks, taskId)) },
  ];
};
