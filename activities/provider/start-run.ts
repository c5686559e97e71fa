import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunOrder, RunReport } from '../../contract/activities';
import { failureCode } from '../../contract/failures';
import { RUNNER_MARK } from '../../contract/marks';
import type { AccountLimit } from './account-limit';
import { appServerOf } from './app-server';
import { cliVersion } from './cli-version';
import { codexArguments } from './codex-command';
import { findCodex } from './codex-binary';
import { replaceFile } from './durable-file';
import { isTaken, runsByMarks } from './executor-state';
import { markedProcesses } from './marked-processes';
import { errorCode, errorMessage } from './thrown';
import { ESCALATION, type ProviderDeps } from './provider-deps';
import { codexHomeOf, providerEnvironment } from './provider-environment';
import { REPORT_SCHEMAS } from './report-schema';
import { checkResume, type Compared } from './resume-check';
import { refusedReport } from './run-report';
import { launchRunner } from './runner-process';
import { pendingStop, type AppServerOrder, type RunPaths, type RunRequest } from './run-directory';
import { workingDirectory } from './working-directory';

const TRIES = 3;
const LOOK_MS = 50;
/** How long a runner that another worker keeps waiting is waited for; a further one is harmless. */
const PATIENCE_MS = 60_000;

/**
 * The app server that has the order's thread open: the turn is taken there, because Codex itself could not write. Not one
 * that is to be reported on: what an agent runs there does not carry the mark that keeps it from judging itself.
 */
function appServerFor({ mode, threadId, policy, report }: RunOrder, codexHome: string): AppServerOrder | null {
  if (mode !== 'resume' || threadId === null || report !== undefined) return null;
  const server = appServerOf(codexHome, threadId);
  return server === null ? null : { ...server, threadId, sandbox: policy.sandbox, model: policy.model };
}

const noteOf = ({ process: { pid } }: AppServerOrder): string =>
  `the turn was taken in the app server ${String(pid)}, which has the thread open`;

/** What an agent is told whose conversation knows another directory. */
const placeOf = ({ movedFrom }: Compared, cwd: string): string =>
  movedFrom === null
    ? ''
    : `\nThis conversation last worked in ${JSON.stringify(movedFrom)}; this run works in ${JSON.stringify(cwd)}.\n`;

interface Start {
  readonly paths: RunPaths;
  readonly account: AccountLimit;
}

/** Makes the workspace and writes down what the runner is asked to do. */
async function prepare(deps: ProviderDeps, order: RunOrder, { paths, account }: Start): Promise<void> {
  const { attemptId, limits } = order;
  const codex = findCodex(deps.env);
  const cwd = await workingDirectory(deps.workspaces, order);
  const compared = await checkResume(order, deps.env, cwd);
  const appServer = appServerFor(order, codexHomeOf(deps.env, order.codexHome));
  const notes = [...compared.notes, ...(appServer === null ? [] : [noteOf(appServer)])];
  const request: RunRequest = {
    attemptId,
    ...(appServer === null
      ? { command: codex, argv: codexArguments(order, cwd, order.report === undefined ? null : paths.reportSchema) }
      : { command: process.execPath, argv: [deps.turnEntry, paths.directory], appServer }),
    cwd,
    codexHome: codexHomeOf(deps.env, order.codexHome),
    login: account.login,
    cliVersion: appServer === null ? cliVersion(codex) : null,
    timeMs: limits.timeMs,
    ...(order.deadlineAt !== undefined && { deadlineAt: order.deadlineAt }),
    outputBytes: limits.outputBytes,
    escalation: deps.escalation ?? ESCALATION,
    ...(order.report === 'verdict' && { workspaceBefore: await deps.workspaces.digestOf(order.task) }),
    ...(notes.length > 0 && { notes }),
  };
  // Not flushed: until the claim is durable nothing depends on them.
  if (order.report !== undefined) {
    replaceFile(paths.reportSchema, JSON.stringify(REPORT_SCHEMAS[order.report]), { isDurable: false });
  }
  replaceFile(paths.prompt, `${order.message}${placeOf(compared, cwd)}`, { isDurable: false });
  replaceFile(paths.request, JSON.stringify(request), { isDurable: false });
}

/** Whether the attempt runs already, or was taken meanwhile, whatever became of the files that say so. */
async function isInOtherHands(paths: RunPaths, attemptId: string): Promise<boolean> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if (isTaken(paths) || runsByMarks(attemptId)) return true;
    // One without a child waits for its worker, or ends with it.
    if (markedProcesses(RUNNER_MARK, attemptId).length === 0) return false;
    await sleep(LOOK_MS);
  }
  return false;
}

/** Has the attempt taken by a runner; gives a report instead when it is refused before any runner took it. */
export async function startRun(deps: ProviderDeps, order: RunOrder, start: Start): Promise<RunReport | null> {
  const { paths, account } = start;
  if (await isInOtherHands(paths, order.attemptId)) return null;
  if (pendingStop(paths) !== null) {
    return refusedReport(order, { outcome: 'stopped', code: 'user_stopped', error: 'it was stopped before it began' });
  }
  const until = order.ignoresUsageLimit === true ? null : account.admit(order.attemptId);
  if (until !== null) {
    const error = `the account of ${codexHomeOf(deps.env, order.codexHome)} is at its usage limit until ${until}`;
    return { ...refusedReport(order, { outcome: 'failed', code: 'usage_limit', error }), resetsAt: until };
  }
  let refused: RunReport | null = null;
  try {
    refused = await launch(deps, order, start);
    return refused;
  } finally {
    // An attempt that a runner took keeps what it was let until it ends.
    if (refused !== null || !isTaken(paths)) account.release(order.attemptId);
  }
}

async function launch(deps: ProviderDeps, order: RunOrder, start: Start): Promise<RunReport | null> {
  const { paths } = start;
  const env = providerEnvironment(deps.env, codexHomeOf(deps.env, order.codexHome), order.attemptId);
  // It starts up while git makes the workspace: each takes its time.
  const first = await launchRunner(deps, paths, env);
  try {
    await prepare(deps, order, start);
  } catch (error) {
    first.dismiss();
    const code = failureCode.safeParse(errorCode(error));
    if (!code.success) throw error;
    return refusedReport(order, { outcome: 'failed', code: code.data, error: errorMessage(error) });
  }
  if (await first.begin()) return null;
  for (let attempt = 2; attempt <= TRIES; attempt += 1) {
    const runner = await launchRunner(deps, paths, env);
    if (await runner.begin()) return null;
  }
  throw new Error(`the runner ended before it took the attempt: ${readFileSync(paths.runnerLog, 'utf8').slice(-500)}`);
}
