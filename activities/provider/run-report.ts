import { existsSync } from 'node:fs';
import type { RunOrder, RunReport } from '../../contract/activities';
import { OBSERVATION_BYTES, type Observation } from '../../contract/run';
import { bounded, cutUtf8 } from '../../contract/text';
import type { Tools } from '../../contract/tools';
import { replaceFile } from './durable-file';
import { fileTail } from './file-tail';
import type { OutputFollower } from './output-follower';
import { plainText, storable } from './plain-text';
import { redact } from './redaction';
import { redactReport } from './report-text';
import { countSpawns, pendingStop, type ExitRecord, type RunPaths } from './run-directory';
import { storedThread } from './stored-thread';
import { findRollout } from './rollout-files';
import { firstTurnSince, isTurnInterrupted } from './rollout-tail';
import { resetOf } from './usage-limit';
import { identityProblem, judgeRun, type Verdict } from './verdict';

/** What is known about a run besides what it printed. */
export interface RunFacts {
  readonly paths: RunPaths;
  readonly hostId: string;
  readonly codexHome: string;
  readonly workspacePath: string | null;
  readonly cliVersion: string | null;
  readonly secrets: readonly string[];
  readonly exit: ExitRecord | null;
  readonly startedAt: string | null;
  readonly warnings: string[];
}

function observe(text: string, { paths, hostId, secrets }: RunFacts, { attemptId, report }: RunOrder): Observation {
  const whole = storable(report === undefined ? redact(text, secrets) : redactReport(text, secrets));
  const bytes = Buffer.byteLength(whole);
  if (bytes <= OBSERVATION_BYTES) return { text: whole, bytes };
  replaceFile(paths.lastMessage, whole, { isDurable: true });
  return { text: cutUtf8(whole, OBSERVATION_BYTES), bytes, ref: `run:${hostId}/${attemptId}/last-message.txt` };
}

function warningsOf(output: OutputFollower, facts: RunFacts, verdict: Verdict): string[] {
  const { events, oversized } = output;
  const counted = (count: number, sentence: string): string[] => (count > 0 ? [`${String(count)} ${sentence}`] : []);
  return [
    ...facts.warnings,
    ...(Buffer.byteLength(output.events.lastMessage ?? '') > OBSERVATION_BYTES
      ? ['the observation was longer than the record keeps; the whole of it is with the run']
      : []),
    ...counted(events.sandboxFailures, 'commands failed because the sandbox could not start (sandbox unavailable)'),
    ...counted(oversized, 'lines of the output were longer than the limit and were dropped'),
    ...counted(events.unreadable, 'lines of the output were no readable events'),
    ...(verdict.code === 'user_stopped' && facts.exit?.forced === true
      ? ['the provider did not end when asked to']
      : []),
    ...events.notices.map((notice) => plainText(notice, facts.secrets)),
  ];
}

function storedOf(order: RunOrder, { events }: OutputFollower, { codexHome, exit, startedAt }: RunFacts) {
  const began = exit?.startedAt ?? startedAt;
  return storedThread(order, {
    codexHome,
    threadId: events.threadIds[0] ?? null,
    usage: events.usage,
    since: began === null ? 0 : Date.parse(began),
  });
}

/** Whether a turn that ended without a word was interrupted by a person in the provider itself (US-13). */
async function isInterrupted({ events }: OutputFollower, facts: RunFacts): Promise<boolean> {
  const { paths, exit, codexHome } = facts;
  const began = exit?.startedAt ?? facts.startedAt;
  const [threadId] = events.threadIds;
  const isCutOff = events.hasTurn && events.terminal === null && (exit === null || exit.reason === null);
  if (threadId === undefined || !isCutOff || existsSync(paths.leftTurn)) return false;
  const rollout = await findRollout(codexHome, threadId);
  if (rollout === null || began === null) return false;
  // Somebody may have gone on in the thread since.
  const turnId = events.turnId ?? (await firstTurnSince(rollout.path, Date.parse(began)));
  return turnId !== null && isTurnInterrupted(rollout.path, turnId);
}

const toolsOf = ({ events }: OutputFollower, { secrets }: RunFacts): Tools => ({
  ...events.tools,
  last: events.tools.last.map((each) => ({ ...each, tool: bounded(plainText(each.tool, secrets), TOOL_CHARACTERS) })),
});

/** Characters that are told of one tool. */
const TOOL_CHARACTERS = 200;

/** Makes the report of a run that is over, from its files. */
export async function reportRun(order: RunOrder, output: OutputFollower, facts: RunFacts): Promise<RunReport> {
  const { exit, paths } = facts;
  const { events } = output;
  const { text: stderr } = await fileTail(paths.stderr);
  const traces = {
    exit,
    stop: pendingStop(paths),
    events,
    oversized: output.oversized,
    printed: output.offset,
    resultAt: output.resultAt,
    stderr,
    isInterrupted: await isInterrupted(output, facts),
  };
  const verdict = judgeRun(traces, order);
  // Nothing is taken from a run of another thread.
  const problem = identityProblem(order, events.threadIds);
  const isOurs = problem === null;
  const isUnnamed = problem?.code === 'thread_missing' && countSpawns(paths) > 0;
  const stored = isOurs || isUnnamed ? await storedOf(order, output, facts) : null;
  const endedAt = exit?.endedAt ?? new Date().toISOString();
  return {
    ...verdict,
    ...(order.report !== undefined && { tools: toolsOf(output, facts) }),
    ...(verdict.outcome === 'interrupted_owner' && { isProbed: true }),
    ...(verdict.code === 'usage_limit' && { resetsAt: resetOf(verdict.error ?? '', Date.parse(endedAt)) }),
    error: verdict.error === null ? null : plainText(verdict.error, facts.secrets),
    threadId: stored?.threadId ?? order.threadId,
    codexHome: facts.codexHome,
    workspacePath: facts.workspacePath,
    cliVersion: facts.cliVersion ?? stored?.cliVersion ?? null,
    observation: isOurs && events.lastMessage !== null ? observe(events.lastMessage, facts, order) : null,
    threadUsage: stored?.usage ?? null,
    exit:
      exit === null || exit.startedAt === null ? null : { code: exit.code, signal: exit.signal, forced: exit.forced },
    startedAt: exit?.startedAt ?? facts.startedAt,
    endedAt,
    spawns: exit?.spawnError ? 0 : countSpawns(paths),
    strays: exit?.strays ?? 0,
    ...(exit?.ranMs !== undefined && { ranMs: exit.ranMs }),
    warnings: [...(stored?.notes ?? []), ...warningsOf(output, facts, verdict)],
  };
}

/** Report of an attempt that was refused before any process was started. */
export function refusedReport(order: RunOrder, verdict: Verdict): RunReport {
  return {
    ...verdict,
    error: verdict.error === null ? null : plainText(verdict.error, []),
    threadId: order.threadId,
    codexHome: order.codexHome,
    workspacePath: null,
    cliVersion: null,
    observation: null,
    threadUsage: null,
    exit: null,
    startedAt: null,
    endedAt: new Date().toISOString(),
    spawns: 0,
    strays: 0,
    warnings: [],
  };
}
