import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppServerClient, AppServerRefusal } from './app-server-client';
import { createOnce } from './durable-file';
import { hasVariable, markedProcesses } from './marked-processes';
import { endProcesses } from './process-ending';
import { identityOf, isSameProcess, ownIdentity, type ProcessIdentity } from './process-identity';
import { readClaim, readRequest, type RunPaths } from './run-directory';
import { threadHolder } from './thread-lock';

/** In the environment of every command in a thread, and in that of those which an agent runs, not a person. */
const THREAD_MARK = 'CODEX_THREAD_ID';
const AGENT_MARK = 'CODEX_TOOL_CALL_ID';
const LOOK_MS = 50;
const INTERRUPT_MS = 10_000;

const turnsSchema = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      status: z.string(),
      items: z.array(z.looseObject({ type: z.string(), clientId: z.string().nullish() })),
    }),
  ),
});

/** A turn that an attempt took in an app server. */
export interface AttemptTurn {
  readonly threadId: string;
  readonly attemptId: string;
  /** The runner that took the attempt: whatever the turn began is younger. */
  readonly runner: ProcessIdentity;
}

/**
 * The thread's last turn, when it is that of the attempt: what began it carries the attempt's id. A text that came too late
 * is in the middle of somebody else's turn.
 */
async function turnOf(client: AppServerClient, { threadId, attemptId }: AttemptTurn) {
  const { data } = await client.request('thread/turns/list', { threadId, limit: 1 }, turnsSchema);
  return data.find(({ items }) => items.find(({ type }) => type === 'userMessage')?.clientId === attemptId);
}

/**
 * Processes of a turn: what an agent began in its thread since the attempt, by the ticks of Linux; a thread has one turn
 * at a time.
 */
const processesOf = ({ threadId, runner }: AttemptTurn): ProcessIdentity[] =>
  markedProcesses(THREAD_MARK, threadId)
    .filter(({ startTime }) => Number(startTime) >= Number(runner.startTime))
    .filter(({ pid }) => hasVariable(pid, AGENT_MARK));

/**
 * Ends the attempt's turn where it still goes on, and the commands that it left, which an interrupt does not end; never
 * the turn of anybody else. `note` is called before an interrupt.
 */
export async function endTurn(
  client: AppServerClient,
  attempt: AttemptTurn,
  note: () => void = () => undefined,
): Promise<void> {
  const { threadId } = attempt;
  const until = Date.now() + INTERRUPT_MS;
  let turn = await turnOf(client, attempt);
  if (turn === undefined) return;
  if (turn.status === 'inProgress') {
    note();
    await client.request('turn/interrupt', { threadId, turnId: turn.id }, z.unknown());
  }
  while (turn?.status === 'inProgress' && Date.now() < until) {
    await sleep(LOOK_MS);
    turn = await turnOf(client, attempt);
  }
  if (turn?.status === 'inProgress') throw new Error(`turn ${turn.id} goes on in the app server after its interrupt`);
  await endProcesses(() => processesOf(attempt));
}

/**
 * Ends the commands of a turn whose app server has the thread no more; what began under whoever has it open by now may
 * be of that one, and nothing outlives a boot.
 */
async function endHeirless(codexHome: string, attempt: AttemptTurn): Promise<void> {
  if (attempt.runner.bootId !== ownIdentity().bootId) return;
  const holder = threadHolder(codexHome, attempt.threadId);
  const heir = holder === null ? undefined : identityOf(holder);
  const isOurs = ({ startTime }: ProcessIdentity): boolean =>
    heir === undefined || Number(startTime) < Number(heir.startTime);
  await endProcesses(() => processesOf(attempt).filter(isOurs));
}

/**
 * Ends what a run left in the app server that had its thread: the process that took the turn there may be gone without
 * a word, and the turn goes on. Does nothing for a run of its own process.
 * @throws AppServerError when a server that lives does not answer.
 */
export async function endLeftTurn(paths: RunPaths, attemptId: string): Promise<void> {
  const request = readRequest(paths);
  const claim = readClaim(paths);
  if (request.kind !== 'found' || claim.kind !== 'found' || request.value.appServer === undefined) return;
  if (!existsSync(paths.turnAsked)) return;
  const { codexHome, appServer } = request.value;
  const { process: server, socket, threadId } = appServer;
  const attempt = { threadId, attemptId, runner: claim.value };
  if (isSameProcess(server) === 'dead') {
    // Its turn ended with it.
    await endHeirless(codexHome, attempt);
    return;
  }
  try {
    const note = (): boolean => createOnce(paths.leftTurn, attemptId);
    await connected(socket, (client) => endTurn(client, attempt, note));
  } catch (error) {
    // A thread that it has not open any more, because somebody deleted it, has no turn.
    if (!(error instanceof AppServerRefusal) || threadHolder(codexHome, threadId) === server.pid) throw error;
    await endHeirless(codexHome, attempt);
  }
}

async function connected<T>(socket: string, work: (client: AppServerClient) => Promise<T>): Promise<T> {
  const client = await AppServerClient.open(socket);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

const threadSchema = z.object({ thread: z.looseObject({ status: z.looseObject({ type: z.string() }) }) });

/** Whether a turn runs in a thread, by the app server that has it open. */
export async function hasActiveTurn(socket: string, threadId: string): Promise<boolean> {
  const { thread } = await connected(socket, (client) => client.request('thread/read', { threadId }, threadSchema));
  return thread.status.type === 'active';
}
