// Takes one turn in the app server that has the thread open: node app-server-turn.js <run directory>, the prompt on
// standard input. To its runner it is a provider like Codex itself: it prints the same events, ends the turn on SIGINT or
// SIGTERM, and ends with exit code 0 only after a completed turn.
import { readFileSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { AppServerClient, type Notification } from '../../activities/provider/app-server-client';
import { TurnEvents, type TurnEnd } from '../../activities/provider/app-server-events';
import { endTurn } from '../../activities/provider/app-server-turn';
import { createOnce } from '../../activities/provider/durable-file';
import type { ProcessIdentity } from '../../activities/provider/process-identity';
import { pathsIn, readClaim, readRequest, type RunRequest } from '../../activities/provider/run-directory';
import { errorMessage } from '../../activities/provider/thrown';

type Order = NonNullable<RunRequest['appServer']>;

const threadSchema = z.object({
  thread: z.looseObject({ id: z.string(), status: z.looseObject({ type: z.string() }) }),
  sandbox: z.looseObject({ type: z.string() }),
});
type Thread = z.output<typeof threadSchema>;
const turnSchema = z.object({ turn: z.looseObject({ id: z.string() }) });

/** The sandboxes as the app server spells them. */
const SANDBOXES = {
  'read-only': { type: 'readOnly', networkAccess: false },
  'workspace-write': {
    type: 'workspaceWrite',
    writableRoots: [],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  },
  'danger-full-access': { type: 'dangerFullAccess' },
} as const;

/** The policy of the run; where the thread has that sandbox already, with what its home's configuration says of it. */
function sandboxOf({ sandbox }: Order, thread: Thread): object {
  const asked = SANDBOXES[sandbox];
  return thread.sandbox.type === asked.type ? thread.sandbox : asked;
}

const print = (event: object): void => {
  writeSync(1, `${JSON.stringify(event)}\n`);
};

interface Attempt {
  readonly attemptId: string;
  readonly cwd: string;
  readonly turnAsked: string;
  readonly order: Order;
  readonly runner: ProcessIdentity;
}

function attemptIn(directory: string): Attempt {
  const paths = pathsIn(directory);
  const [request, claim] = [readRequest(paths), readClaim(paths)];
  if (request.kind !== 'found' || claim.kind !== 'found' || request.value.appServer === undefined) {
    throw new Error(`${directory} holds no attempt for an app server`);
  }
  const { attemptId, cwd, appServer } = request.value;
  return { attemptId, cwd, turnAsked: paths.turnAsked, order: appServer, runner: claim.value };
}

/** Begins the turn; gives its id, or null when the attempt was stopped before. */
async function beginTurn(client: AppServerClient, attempt: Attempt, stop: AbortSignal): Promise<string | null> {
  const { attemptId, cwd, order, turnAsked } = attempt;
  const { threadId, model } = order;
  const text = readFileSync(0, 'utf8');
  const thread = await client.request('thread/resume', { threadId, excludeTurns: true }, threadSchema);
  // A text that is sent now would go into that turn.
  if (thread.thread.status.type === 'active') throw new Error('the thread already has an active turn');
  print({ type: 'thread.started', thread_id: thread.thread.id });
  if (stop.aborted) return null;
  const policy = { cwd, approvalPolicy: 'never', sandboxPolicy: sandboxOf(order, thread), model };
  const asked = { threadId, clientUserMessageId: attemptId, input: [{ type: 'text', text }], ...policy };
  createOnce(turnAsked, attemptId);
  const { turn } = await client.request('turn/start', asked, turnSchema);
  client.refuseQuestionsOf(turn.id);
  print({ type: 'turn.started', turn_id: turn.id });
  return turn.id;
}

async function takeTurn(directory: string, stop: AbortSignal): Promise<TurnEnd> {
  const attempt = attemptIn(directory);
  const notifications: Notification[] = [];
  let take = (notification: Notification): void => {
    notifications.push(notification);
  };
  const client = await AppServerClient.open(attempt.order.socket, (notification) => {
    take(notification);
  });
  try {
    const turnId = await beginTurn(client, attempt, stop);
    if (turnId === null) return 'interrupted';
    const end = new Promise<TurnEnd>((resolve) => {
      const events = new TurnEvents(turnId, print);
      take = (notification) => {
        const found = events.take(notification);
        if (found !== null) resolve(found);
      };
      notifications.forEach(take);
      const interrupt = (): void => {
        resolve('interrupted');
      };
      if (stop.aborted) interrupt();
      else stop.addEventListener('abort', interrupt);
    });
    const lost = client.closed.then(() => null);
    const ended = await Promise.race([end, lost]);
    if (ended === null) throw new Error('the app server went away in the middle of the turn');
    // What it cannot end any more its host ends; a turn that has ended stays what it was.
    await endTurn(client, { ...attempt, threadId: attempt.order.threadId }).catch((error: unknown) => {
      if (ended === 'interrupted') throw error;
    });
    return ended;
  } finally {
    client.close();
  }
}

const [, , directory] = process.argv;
if (directory === undefined) {
  process.stderr.write('usage: node app-server-turn.js <run directory>\n');
  process.exit(2);
}
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stop.abort(signal);
  });
}

/** Ends like Codex itself, which SIGTERM ends by signal: only SIGINT is a person's interrupt. */
function leave(code: number): void {
  if (stop.signal.reason !== 'SIGTERM') process.exit(code);
  process.exitCode = code;
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}

takeTurn(directory, stop.signal).then(
  (end) => {
    leave(end === 'completed' ? 0 : 1);
  },
  (error: unknown) => {
    process.stderr.write(`Error: ${errorMessage(error)}\n`);
    leave(1);
  },
);
