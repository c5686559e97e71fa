import { Command } from 'commander';
import type { Audit, AuditedAttempt } from '../client/index';
import { markStale, type Style } from './output';
import { perform, type CommonOptions } from './perform';
import { table } from './table';

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

function auditLines({ attempts, receipts }: Audit, style: Style): string[] {
  if (attempts.length === 0) return ['no attempts'];
  const head = ['#', 'attempt', 'mode', 'thread', 'spawns', 'started', 'ended', 'outcome', 'exit'];
  const [first = '', ...rest] = table([head, ...attempts.map(attemptCells)]);
  const stored = receipts.map((each) => [
    String(each.sequence),
    each.receiptId,
    each.attemptId,
    each.resultRef,
    each.queuedAt,
  ]);
  return [
    style.bold(first),
    ...rest,
    ...(stored.length === 0 ? ['no receipts'] : table([['receipt', 'id', 'attempt', 'result', 'queued'], ...stored])),
  ];
}

function attemptCells(attempt: AuditedAttempt): string[] {
  const { number, attemptId, mode, threadId, spawns, startedAt, endedAt, outcome, code, exit } = attempt;
  const ending = code === null ? outcome : `${outcome ?? ''} (${code})`;
  const left = exit === null ? '-' : (exit.signal ?? String(exit.code));
  return [
    String(number),
    attemptId,
    mode,
    threadId ?? '-',
    String(spawns),
    startedAt ?? '-',
    endedAt ?? '-',
    ending ?? 'running',
    left,
  ];
}
