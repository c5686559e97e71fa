import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { executorState } from '../../activities/provider/executor-state';
import { endMarked } from '../../activities/provider/process-ending';
import type { FollowContext, ProviderDeps } from '../../activities/provider/provider-deps';
import { isUuid, runPaths, type RunPaths } from '../../activities/provider/run-directory';
import type { RunOrder } from '../../contract/activities';
import { runnerEntry } from './runner-entry';
import { until } from './until';

export const AGENT = join(__dirname, '..', 'fixtures', 'scripted-agent.mjs');
export const THREAD = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf610';

type Step = Record<string, unknown>;
export const thread = (id = THREAD): Step => ({ event: { type: 'thread.started', thread_id: id } });
export const say = (text: string): Step => ({
  event: { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } },
});
export const done = (): Step => ({
  event: { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 5, output_tokens: 10 } },
});
/** What a run that goes well prints. */
export const goodRun = (text = 'all done'): Step[] => [thread(), say(text), done()];

const logEntry = z.looseObject({
  pid: z.int(),
  started: z.boolean().optional(),
  argv: z.array(z.string()).optional(),
  env: z.array(z.string()).optional(),
  daemon: z.int().optional(),
  child: z.int().optional(),
  signal: z.string().optional(),
});
export type AgentLogEntry = z.infer<typeof logEntry>;

/** A host of its own for one test: a home, a workspace, the scripted agent, and nothing left behind. */
export interface ProviderHost {
  readonly deps: ProviderDeps;
  readonly workspace: string;
  order(steps: Step[], exact?: Partial<RunOrder>): RunOrder;
  paths(order: { attemptId: string }): RunPaths;
  agentLog(): AgentLogEntry[];
  dispose(): Promise<void>;
}

/** A context whose cancellation never comes. */
export function quietContext(exact: Partial<FollowContext> = {}): FollowContext {
  return {
    cancelled: new Promise<never>(() => undefined),
    activity: { workflowId: 'task/default/T-1', runId: 'run', activityId: '1' },
    heartbeat: () => undefined,
    isShuttingDown: () => false,
    ...exact,
  };
}

export function createProviderHost(exact: Partial<ProviderDeps> = {}): ProviderHost {
  const root = mkdtempSync(join(tmpdir(), 'perdure-provider-'));
  const workspace = join(root, 'workspace');
  const agentLog = join(root, 'agent.log');
  mkdirSync(workspace);
  mkdirSync(join(root, 'codex'));
  const attempts: string[] = [];
  const deps: ProviderDeps = {
    home: join(root, 'home'),
    hostId: 'host-1',
    env: {
      PATH: process.env['PATH'],
      CODEX_HOME: join(root, 'codex'),
      PERDURE_CODEX_BIN: AGENT,
      PERDURE_PROVIDER_ENV: 'AGENT_LOG',
      AGENT_LOG: agentLog,
    },
    runnerEntry: runnerEntry(),
    turnEntry: 'no app server here',
    workspaces: { ensure: () => Promise.resolve(workspace), digestOf: () => Promise.resolve(null) },
    context: quietContext,
    escalation: [300, 300],
    ...exact,
  };
  return {
    deps,
    workspace,
    order(steps, order = {}) {
      const attemptId = order.attemptId ?? randomUUID();
      if (isUuid(attemptId)) attempts.push(attemptId);
      return {
        attemptId,
        task: { tenantId: 'default', taskId: 'T-1' },
        mode: 'start',
        threadId: null,
        codexHome: null,
        message: JSON.stringify(steps),
        repository: null,
        policy: { sandbox: 'workspace-write', model: null },
        limits: { timeMs: 60_000, inactivityMs: 60_000, startMs: 60_000, outputBytes: 1024 ** 3 },
        ...order,
      };
    },
    paths: ({ attemptId }) => runPaths(deps.home, attemptId),
    agentLog() {
      try {
        const lines = readFileSync(agentLog, 'utf8').split('\n').filter(Boolean);
        return lines.map((line) => logEntry.parse(JSON.parse(line)));
      } catch {
        return [];
      }
    },
    async dispose() {
      for (const attemptId of attempts) {
        await endMarked(attemptId);
        // Its runner writes down the end of what was just killed.
        await until(() => executorState(runPaths(deps.home, attemptId), attemptId).kind !== 'alive');
      }
      rmSync(root, { recursive: true, force: true });
    },
  };
}
