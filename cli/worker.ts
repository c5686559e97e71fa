import { Command, Option } from 'commander';
import { jsonLine } from './escape';
import { exitCodeOf } from './exit-code';
import { printFailure, printLine } from './output';
import type { CommonOptions } from './perform';
import type { WorkerMessage } from './up/worker-process';

interface WorkerFlags extends CommonOptions {
  readonly role: 'all' | 'orchestrator' | 'host';
}

/** `perdure worker`: this process is the workers of one role until it is told to end. */
export function workerCommand(): Command {
  const roles = new Option('--role <role>', 'which workers').choices(['all', 'orchestrator', 'host']).default('all');
  return new Command('worker')
    .description('run workers of this machine in this process until Ctrl-C')
    .addOption(roles)
    .option('--json', 'one JSON document on stdout when they are ready')
    .action(work);
}

async function work({ role, json: isJson = false }: WorkerFlags): Promise<void> {
  const { outcomeOf } = await import('../client/outcome.js');
  // Only this command loads the SDK's worker, because it is that process.
  const { runWorkers } = await import('../workers/main.js');
  const seen: { isReady: boolean } = { isReady: false };
  const outcome = await outcomeOf(async () => {
    await runWorkers({
      role,
      env: process.env,
      onReady: ({ address, hostId }) => {
        seen.isReady = true;
        void tellParent({ ready: true, address, hostId });
        const { pid } = process;
        if (isJson) printLine(jsonLine({ success: true, ready: true, role, address, hostId, pid }));
        else printLine(`Ready: role ${role}, host ${hostId}, Temporal ${address}. Ctrl-C ends it; its runs go on.`);
      },
    });
    return {};
  });
  if (outcome.success) return;
  await tellParent({ failure: outcome });
  // Who started this process says why it could not start; what came later is said here.
  if (seen.isReady || !process.connected) printFailure(isJson, outcome);
  else process.exitCode = exitCodeOf(outcome);
}

/** Tells the `up` that started this process; resolves when the message is on its way. */
function tellParent(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) {
      resolve();
      return;
    }
    process.send(message, () => {
      resolve();
    });
  });
}
