import type { RunOrder, RunReport } from '../../contract/activities';
import { AccountLimit } from './account-limit';
import { endLeftTurn } from './app-server-turn';
import { makePrivateDirectory } from './durable-file';
import { isTaken } from './executor-state';
import { toProviderFailure } from './failures';
import { RunFollower } from './follow-run';
import { noteFollower } from './followers';
import { OutputFollower } from './output-follower';
import { ESCALATION, temporalContext, type FollowContext, type ProviderDeps } from './provider-deps';
import { codexHomeOf, secretValues } from './provider-environment';
import { readRequest, runPaths, type RunPaths } from './run-directory';
import { reportRun } from './run-report';
import { startRun } from './start-run';

const BEAT_MS = 2_000;

interface Followed {
  readonly deps: ProviderDeps;
  readonly order: RunOrder;
  readonly paths: RunPaths;
  readonly context: FollowContext;
  readonly account: AccountLimit;
}

async function followToReport({ deps, order, paths, context, account }: Followed): Promise<RunReport> {
  const { env, hostId, escalation = ESCALATION } = deps;
  const read = readRequest(paths);
  const request = read.kind === 'found' ? read.value : null;
  const codexHome = request?.codexHome ?? codexHomeOf(env, order.codexHome);
  const output = new OutputFollower(paths.stdout);
  try {
    const onAnswer = (): void => {
      account.answered(order.attemptId);
    };
    const end = await new RunFollower({ order, paths, output, context, escalation, onAnswer }).follow();
    if (request?.appServer !== undefined) await endLeftTurn(paths, order.attemptId);
    const report = await reportRun(order, output, {
      ...end,
      warnings: [...(request?.notes ?? []), ...end.warnings],
      paths,
      hostId,
      codexHome,
      workspacePath: request?.cwd ?? null,
      cliVersion: request?.cliVersion ?? null,
      secrets: secretValues(env, codexHome),
    });
    account.conclude(order, report);
    if (order.report === undefined) return report;
    const workspaceBefore = request?.workspaceBefore;
    const workspace = await deps.workspaces.digestOf(order.task);
    return { ...report, workspace, ...(workspaceBefore !== undefined && { workspaceBefore }) };
  } finally {
    await output.close();
  }
}

/** The account that an attempt uses: that of who was logged in when it was made. */
function accountOf({ home, env, now }: ProviderDeps, order: RunOrder, paths: RunPaths): AccountLimit {
  const request = readRequest(paths);
  const login = isTaken(paths) && request.kind === 'found' ? request.value.login : undefined;
  return new AccountLimit(home, { codexHome: codexHomeOf(env, order.codexHome), login }, now);
}

/** Starts an attempt with a sign of life meanwhile: making a worktree of a large repository takes its time. */
async function startWithBeats({ deps, order, paths, context, account }: Followed): Promise<RunReport | null> {
  const details = { offset: 0, threadId: null, usage: null, lastActivityAt: null, toolRunning: false };
  const timer = setInterval(() => {
    context.heartbeat(details);
  }, BEAT_MS);
  try {
    return await startRun(deps, order, { paths, account });
  } finally {
    clearInterval(timer);
  }
}

/**
 * Starts an attempt or adopts it, and follows it to its end: idempotent by attempt id, at most one provider process.
 * When it is cancelled it lets go of the attempt and leaves the provider alone.
 */
export async function runProvider(deps: ProviderDeps, order: RunOrder): Promise<RunReport> {
  const context = (deps.context ?? temporalContext)();
  let forget: (() => void) | undefined;
  try {
    const paths = runPaths(deps.home, order.attemptId);
    makePrivateDirectory(paths.directory);
    forget = noteFollower(deps.home, order.attemptId, context.activity);
    const account = accountOf(deps, order, paths);
    const followed = { deps, order, paths, context, account };
    const refused = isTaken(paths) ? null : await startWithBeats(followed);
    return refused ?? (await followToReport(followed));
  } catch (error) {
    throw toProviderFailure(error, context.isShuttingDown());
  } finally {
    forget?.();
  }
}
