import { Command } from 'commander';
import type { Diagnosis } from '../client/index';
import { jsonLine, oneLine } from './escape';
import { exitCodeOf } from './exit-code';
import { printLine, styleFor, type Style } from './output';
import { withSession, type CommonOptions } from './perform';
import { fields } from './table';
import { printFailure } from './output';

/** `perdure doctor`: checks what this host needs, and lists the defaults of every run. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check what the product needs on this host')
    .option('--json', 'one JSON document on stdout')
    .action(async ({ json: isJson = false }: CommonOptions) => {
      let diagnosis: Diagnosis | undefined;
      const outcome = await withSession(
        async (session) => {
          const { diagnose } = await import('../client/index.js');
          const answer = await diagnose(session);
          diagnosis = answer;
          return answer;
        },
        { inSpiteOfConfig: true },
      );
      if (diagnosis === undefined && !outcome.success) {
        printFailure(isJson, outcome);
        return;
      }
      if (!outcome.success) process.exitCode = exitCodeOf(outcome);
      if (isJson) printLine(jsonLine(outcome));
      else if (diagnosis !== undefined) doctorLines(diagnosis, styleFor(process.stdout)).forEach(printLine);
    });
}

function doctorLines({ checks, defaults, home, hostId, tenantId }: Diagnosis, style: Style): string[] {
  const widest = Math.max(...checks.map(({ name }) => name.length));
  const { limits, policy, receipts } = defaults;
  return [
    ...checks.flatMap(({ name, ok, detail, hint }) => [
      `${ok ? style.green('ok  ') : style.red('FAIL')} ${name.padEnd(widest)}  ${oneLine(detail)}`,
      ...(hint === undefined ? [] : [style.dim(`     ${' '.repeat(widest)}  ${oneLine(hint)}`)]),
    ]),
    '',
    ...fields({
      home,
      host: hostId,
      tenant: tenantId,
      'time limit': `${String(limits.timeMs / 1_000)} s`,
      inactivity: `${String(limits.inactivityMs / 1_000)} s`,
      'start deadline': `${String(limits.startMs / 1_000)} s`,
      output: `${String(limits.outputBytes)} bytes`,
      sandbox: policy.sandbox,
      model: policy.model ?? "the provider's own",
      'receipt webhook': receipts?.webhook ?? 'none',
      'receipts tried for': receipts === undefined ? null : `${String(receipts.giveUpAfterMs / 1_000)} s`,
    }),
  ];
}
