import { defineSearchAttributeKey } from '@temporalio/common';

/** Task queue of the orchestrator worker: workflows and light activities. */
export const ORCHESTRATOR_QUEUE = 'perdure';

/** Task queue of one machine's host workers: provider and sandbox activities. */
export const hostQueue = (hostId: string): string => `perdure-host@${hostId}`;

/** Workflow types, as operators see them. */
export const WORKFLOW = {
  task: 'task',
  dispatchTask: 'dispatchTask',
  reopenTask: 'reopenTask',
  resumeCodex: 'resumeCodex',
  failOrphan: 'failOrphan',
  sweepOrphans: 'sweepOrphans',
  project: 'project',
  directTask: 'directTask',
  serveReceipts: 'serveReceipts',
  deliverReceipt: 'deliverReceipt',
  removeRuns: 'removeRuns',
} as const;

/** The types that a task's own workflow id goes through, one after the other. */
export type PhaseType = 'task' | 'dispatchTask' | 'reopenTask';

/** Names a task within its tenant. */
export interface TaskKey {
  readonly tenantId: string;
  readonly taskId: string;
}

export const taskWorkflowId = ({ tenantId, taskId }: TaskKey): string => `task/${tenantId}/${taskId}`;

/** Reads a task's workflow id back, or undefined when it is not one. */
export function parseTaskWorkflowId(workflowId: string): TaskKey | undefined {
  const [noun, tenantId, taskId, ...rest] = workflowId.split('/');
  if (noun !== 'task' || !tenantId || !taskId || rest.length > 0) return undefined;
  return { tenantId, taskId };
}

/** The lease of a Codex thread: whoever runs under this id drives the thread. */
export const threadWorkflowId = (threadId: string): string => `thread/codex/${threadId}`;

/** Names a project within its tenant. */
export interface ProjectKey {
  readonly tenantId: string;
  readonly projectId: string;
}

export const projectWorkflowId = ({ tenantId, projectId }: ProjectKey): string => `project/${tenantId}/${projectId}`;

/** Reads a project's workflow id back, or undefined when it is not one. */
export function parseProjectWorkflowId(workflowId: string): ProjectKey | undefined {
  const [noun, tenantId, projectId, ...rest] = workflowId.split('/');
  if (noun !== 'project' || !tenantId || !projectId || rest.length > 0) return undefined;
  return { tenantId, projectId };
}

/** Id of a direct task, which shares nothing with the task of the same name. */
export const directWorkflowId = ({ tenantId, taskId }: TaskKey): string => `direct/${tenantId}/${taskId}`;

/** Reads a direct task's workflow id back, or undefined when it is not one. */
export function parseDirectWorkflowId(workflowId: string): TaskKey | undefined {
  const [noun, tenantId, taskId, ...rest] = workflowId.split('/');
  if (noun !== 'direct' || !tenantId || !taskId || rest.length > 0) return undefined;
  return { tenantId, taskId };
}

export const orphanWorkflowId = ({ tenantId, taskId }: TaskKey): string => `orphan/${tenantId}/${taskId}`;

/** The delivery of one receipt. */
export const receiptWorkflowId = (receiptId: string): string => `receipt/${receiptId}`;

/** The removal, on one host, of what it keeps of attempts; named after the first of them. */
export const removalWorkflowId = (hostId: string, attemptId: string): string => `runs/${hostId}/${attemptId}`;

/** Schedule that looks for orphans, one per namespace. */
export const SWEEP_SCHEDULE = 'perdure-orphans';

/** Search attributes: all keywords, never content. */
export const SEARCH_ATTRIBUTE = {
  status: defineSearchAttributeKey('PerdureStatus', 'KEYWORD'),
  tenant: defineSearchAttributeKey('PerdureTenant', 'KEYWORD'),
  agent: defineSearchAttributeKey('PerdureAgent', 'KEYWORD'),
  project: defineSearchAttributeKey('PerdureProject', 'KEYWORD'),
  parent: defineSearchAttributeKey('PerdureParent', 'KEYWORD'),
  host: defineSearchAttributeKey('PerdureHost', 'KEYWORD'),
  attention: defineSearchAttributeKey('PerdureAttention', 'KEYWORD'),
  thread: defineSearchAttributeKey('PerdureThread', 'KEYWORD'),
} as const;

/** Visibility condition of a run that was ended from outside, or that gave up. */
export const ENDED = "ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled')";

/** A string literal of the visibility language. */
export const visibilityText = (value: string): string => `'${value.replaceAll("'", "''")}'`;
