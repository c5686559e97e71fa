import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { homePath } from '../../client/home';
import { auditTask, showTask, type AuditedAttempt } from '../../client/index';
import { auditLines } from '../../cli/audit';
import { styleFor } from '../../cli/output';
import { findTemporalBinary } from '../../cli/up/temporal-binary';
import { CRITERION, LINE, TASK_ID, type BusyRun, type Scene } from './acts';

/** Prints the audit of the task and checks it. */
export async function auditAct({ show, stage }: Scene): Promise<AuditedAttempt> {
  show.act('The audit');
  show.line(`$ perdure audit ${TASK_ID}`);
  const audit = await auditTask(stage.session, TASK_ID);
  const shown = await showTask(stage.session, TASK_ID);
  if (!audit.success || !shown.success) throw new Error('the audit cannot be read');
  for (const line of auditLines(audit, styleFor({}))) show.line(line);
  const [attempt] = audit.attempts;
  if (attempt === undefined) throw new Error('the task has no attempt');
  show.check('one attempt, one spawn', audit.attempts.length === 1 && attempt.spawns === 1);
  show.check('one receipt of its result', audit.receipts.length === 1);
  const { status } = shown.task;
  const isMet = attempt.criteria.length === 1 && attempt.criteria[0]?.met === true;
  show.check(`the task is ${status}; the product itself ran: ${CRITERION}`, status === 'completed' && isMet);
  return attempt;
}

/** Everything that a second agent could not have left as it is. */
export async function proofAct({ show, endpoint }: Scene, run: BusyRun, attempt: AuditedAttempt): Promise<void> {
  show.act('The proof that it ran once');
  const { evidence, executor } = run;
  const spawns = await evidence.spawns();
  show.check(`the runner's own ledger has ${String(spawns)} line`, spawns === 1);
  const { provider } = await evidence.executor();
  const isSame = provider.pid === executor.provider.pid && provider.startTime === executor.provider.startTime;
  show.check(`Codex before and after the kill: pid ${String(executor.provider.pid)}, started once`, isSame);
  const requests = endpoint.requests();
  const threads = new Set(requests.map(({ threadId }) => threadId));
  show.check(
    `the model saw one thread, the one of the audit`,
    threads.size === 1 && threads.has(attempt.threadId) && attempt.threadId !== null,
  );
  const isStraight = requests.every(({ position, tries }, index) => position === index && tries === 1);
  show.check(`the model was asked ${String(requests.length)} times, each answer once`, isStraight);
  const file = join(String(attempt.workspacePath), 'hello.txt');
  const content = await readFile(file, 'utf8').catch(() => '');
  show.line(`$ cat ${file}`);
  for (const line of content.trimEnd().split('\n')) show.live('hello.txt', line);
  show.check('the command appends a line, and there is one line', content === `${LINE}\n`);
}

/** The same answers from Temporal's own tool, and the commands to go on with. */
export function lookAct({ show, stage, signal }: Scene, isKept: boolean): void {
  show.act("The same in Temporal's own history");
  const { address } = stage.server;
  const temporal = findTemporalBinary(process.env, homePath(process.env));
  const query = `WorkflowId = 'task/default/${TASK_ID}'`;
  const args = ['workflow', 'list', '--address', address, '--query', query, '--output', 'json'];
  show.line(`$ temporal workflow list --address ${address} --query "${query}"`);
  const runs = JSON.parse(execFileSync(temporal, args, { encoding: 'utf8', timeout: 20_000 })) as {
    type: { name: string };
    status: string;
  }[];
  signal.throwIfAborted();
  for (const { type, status } of runs) {
    show.line(`${type.name.padEnd(14)}${status.replace('WORKFLOW_EXECUTION_STATUS_', '').toLowerCase()}`);
  }
  const phases = runs.map(({ type }) => type.name).sort();
  show.check('one workflow id, two phases: dispatched, then at rest', phases.join() === 'dispatchTask,task');
  show.line(isKept ? 'To look further:' : 'To look further, run it again with --keep; the commands will be:');
  const home = isKept ? stage.home : '<home>';
  for (const command of [
    `PERDURE_HOME=${home} npx perdure up --port 7233`,
    ...['audit', 'why', 'task show', 'logs'].map((name) => `PERDURE_HOME=${home} npx perdure ${name} ${TASK_ID}`),
    'temporal workflow list --address 127.0.0.1:7233',
    `temporal workflow show --address 127.0.0.1:7233 --workflow-id task/default/${TASK_ID}`,
  ]) {
    show.line(`  ${command}`);
  }
}
