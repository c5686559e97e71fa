import { userInfo } from 'node:os';
import type { Client } from '@temporalio/client';
import { taskWorkflowId, type TaskKey } from '../contract/names';
import { ATTEMPT_MARK } from '../contract/marks';
import { RUN_ACTOR } from '../contract/run';
import { id } from '../contract/text';
import { invalidArgument } from '../contract/failures';
import { connect, resolveConnection, type ConnectionPlan } from './connection';
import { openHome, type Home, type OpenHome } from './home';
import { outcomeOf, refuse } from './outcome';
import { refuseClear } from './remembered-keys';
import { GRPC, grpcStatus, isTaskFailure } from './temporal-failure';

type Env = Readonly<Record<string, string | undefined>>;

/** Milliseconds that a worker has to answer a query: a caller without one shall know in 10 s, on a busy machine too. */
export const QUERY_MS = 5_000;
const CALL_MS = 10_000;

/** One caller's way to the product: who asks, from which home. It connects when an operation first needs it. */
export interface Session {
  readonly env: Env;
  readonly home: Home;
  readonly actor: string;
  /** Which server this session uses. */
  plan(): ConnectionPlan;
  client(): Promise<Client>;
  close(): Promise<void>;
}

/** Opens a session on the home that the environment names; nothing is connected yet. */
export async function openSession(env: Env = process.env, how: OpenHome = {}) {
  return outcomeOf(async () => {
    const home = await openHome(env, how);
    let planned: ConnectionPlan | undefined;
    const plan = (): ConnectionPlan => (planned ??= resolveConnection(env, home));
    const run = env[ATTEMPT_MARK];
    // Inside of a run every command is the agent's, whoever the user is.
    const actor = run === undefined || run === '' ? `user:${userName()}` : `${RUN_ACTOR}${run.slice(0, 100)}`;
    let pending: Promise<Client> | undefined;
    const connected = async (): Promise<Client> => {
      refuseClear(home.path, plan().payloads.keyIds);
      return connect(plan(), `perdure ${actor}@${home.hostId}`);
    };
    const session: Session = {
      env,
      home,
      actor,
      plan,
      client: () => (pending ??= connected()),
      close: async () => {
        const client = await pending?.catch(() => undefined);
        await client?.connection.close();
      },
    };
    return { session };
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** The key of a task of this session's tenant; refuses an id that can be none. */
export function taskKey(session: Session, taskId: string): TaskKey {
  const parsed = id.safeParse(taskId);
  if (!parsed.success) refuse('INVALID_ARGUMENT', `the task id ${invalidArgument(parsed.error).error}`);
  return { tenantId: session.home.tenantId, taskId };
}

/** Handle of a task's workflow, of its newest run or of a given one. */
export async function taskHandle(session: Session, taskId: string, runId?: string) {
  const workflowId = taskWorkflowId(taskKey(session, taskId));
  const client = await session.client();
  return client.workflow.getHandle(workflowId, runId, { followRuns: false });
}

/** Calls the server itself, with a deadline. */
export async function call<T>(session: Session, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await session.client();
  return client.connection.withDeadline(Date.now() + CALL_MS, () => work(client));
}

/** Asks a worker through the server, with a deadline: silence is WORKER_SILENT, not a lost server. */
export async function ask<T>(session: Session, ms: number, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await session.client();
  try {
    return await client.connection.withDeadline(Date.now() + ms, () => work(client));
  } catch (error) {
    const status = grpcStatus(error);
    const isLate = status?.code === GRPC.deadlineExceeded || status?.code === GRPC.cancelled;
    if (isLate) refuse('WORKER_SILENT', 'no worker answered in time');
    if (status?.code === GRPC.failedPrecondition && !isTaskFailure(status)) {
      refuse('WORKER_SILENT', `no worker can answer for this task (${status.details})`);
    }
    throw error;
  }
}
