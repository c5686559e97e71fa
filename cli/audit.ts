import { Command } from 'commander';
import type { Audit, AuditedAttempt } from '../client/index';
import { oneLine } from './escape';
import { markStale, type Style } from './output';
import { perform, type CommonOptions } from './perform';

/** `perdure audit`: shows every attempt of a task, what it spawned, and its receipts. */
export function auditCommand(): Command {
  return new Command('audit')
    .description('show the attempts of a task, their spawns and receipts')
    .argument('<id>', 'the task')
    .option('--json', 'one JSON document on stdout')
    .action(async (taskId: string, options: CommonOptions) => {
      const answer = await perform<Audit>(options, {
        work: async (session) => {
          const { auditTask } = await import('../client/index.js');
          return auditTask(session, taskId);
        },
        lines: auditLines,
      });
      if (answer !== undefined) markStale(answer);
    });
}

/** An audit for people: lines that fit a terminal, because every id in it is long. */
export function auditLines({ attempts, receipts }: Audit, style: Style): string[] {
  if (attempts.length === 0) return ['no attempts'];
  const stored = receipts.flatMap(({ sequence, receiptId, attemptId, resultRef, queuedAt }) => [
    oneLine(`receipt ${String(sequence)}  ${receiptId}  queued ${queuedAt}`),
    oneLine(`  attempt ${attemptId}  result ${resultRef}`),
  ]);
  return [
    ...attempts.flatMap((attempt) => attemptLines(attempt, style)),
    ...(stored.length === 0 ? ['no receipts'] : stored),
  ];
}

function attemptLines(attempt: AuditedAttempt, style: Style): string[] {
  const { number, attemptId, mode, threadId, spawns, outcome, code, exit, workspacePath } = attempt;
  const { requestedAt, startedAt, endedAt } = attempt;
  const ending = code === null ? (outcome ?? 'running') : `${outcome ?? ''} (${code})`;
  const left = exit === null ? '' : `, exit ${exit.signal ?? String(exit.code)}`;
  const times = `${startedAt ?? `asked for ${requestedAt}`}${endedAt === null ? '' : ` to ${endedAt}`}`;
  return [
    `${style.bold(`#${String(number)} ${mode} ${ending}`)}${left}, spawns ${String(spawns)}, ${times}`,
    oneLine(`  attempt ${attemptId}  thread ${threadId ?? '-'}`),
    oneLine(`  work ${workspacePath ?? 'not known'}`),
  ];
}
