import { Command, Option } from 'commander';
import { RECEIPT_STATES, type ReceiptList, type ReceiptState, type Resent } from '../contract/receipt-store';
import { perform, type CommonOptions } from './perform';
import { table } from './table';
import { integer } from './values';

interface ListOptions extends CommonOptions {
  readonly after: number;
  readonly limit: number;
  readonly task?: string;
  readonly state?: ReceiptState;
}

const JSON_OPTION = ['--json', 'one JSON document on stdout'] as const;

/** `perdure receipts`: what was queued for whoever keeps the books, and what became of it. */
export function receiptsCommand(): Command {
  return new Command('receipts')
    .description('list, acknowledge and deliver receipts of stored results')
    .addCommand(listCommand())
    .addCommand(acknowledgeCommand())
    .addCommand(deliverCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('list receipts in the order of the queue')
    .option('--after <sequence>', 'only those behind this sequence', integer(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--limit <count>', 'at most so many', integer(1, 1_000), 100)
    .option('--task <id>', 'only those of this task')
    .addOption(new Option('--state <state>', 'only those in this state').choices(RECEIPT_STATES))
    .option(...JSON_OPTION)
    .action(async (options: ListOptions) => {
      const { after, limit, task, state } = options;
      const filter = {
        after,
        limit,
        ...(task !== undefined && { taskId: task }),
        ...(state !== undefined && { state }),
      };
      await perform<ReceiptList>(options, {
        work: async (session) => {
          const { listReceipts } = await import('../client/index.js');
          return listReceipts(session, filter);
        },
        lines: receiptLines,
      });
    });
}

function acknowledgeCommand(): Command {
  return new Command('ack')
    .description('acknowledge receipts: all of the named ones, or none when one is unknown')
    .argument('<id...>', 'the receipts')
    .option(...JSON_OPTION)
    .action(async (receiptIds: string[], options: CommonOptions) => {
      await perform<ReceiptList>(options, {
        work: async (session) => {
          const { acknowledgeReceipts } = await import('../client/index.js');
          return acknowledgeReceipts(session, receiptIds);
        },
        lines: receiptLines,
      });
    });
}

function deliverCommand(): Command {
  return new Command('deliver')
    .description('have undelivered receipts sent again: the named ones, or all that are queued or failed')
    .argument('[id...]', 'the receipts')
    .option(...JSON_OPTION)
    .action(async (receiptIds: string[], options: CommonOptions) => {
      await perform<Resent>(options, {
        work: async (session) => {
          const { resendReceipts } = await import('../client/index.js');
          return resendReceipts(session, receiptIds);
        },
        lines: ({ resent }) => [`deliveries that begin anew: ${String(resent)}`],
      });
    });
}

function receiptLines({ receipts }: ReceiptList): string[] {
  if (receipts.length === 0) return ['no receipts'];
  const rows = receipts.map(({ sequence, state, queuedAt, taskId, outcome, receiptId, error }) => [
    String(sequence),
    state,
    queuedAt,
    taskId ?? '-',
    outcome ?? '-',
    receiptId,
    error ?? '',
  ]);
  return table([['sequence', 'state', 'queued', 'task', 'outcome', 'receipt', ''], ...rows]);
}
