import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { auditCommand } from './audit';
import { decideCommand } from './decide';
import { directCommand } from './direct';
import { dispatchCommand } from './dispatch';
import { doctorCommand } from './doctor';
import { incidentCommand } from './incident';
import { logsCommand } from './logs';
import { orphansCommand } from './orphans';
import { projectCommand } from './project';
import { receiptsCommand } from './receipts';
import { runCommand } from './run';
import { stopCommand } from './stop';
import { taskCommand } from './task';
import { upCommand } from './up';
import { guardUsage } from './usage';
import { watchCommand } from './watch';
import { whyCommand } from './why';
import { workerCommand } from './worker';

/** The whole command line; commands load what they need when they run, so that help is there at once. */
export function buildProgram(): Command {
  const program = new Command('perdure')
    .description('Coding-agent tasks that outlive everything around them, on Temporal')
    .version(version())
    .addHelpText('after', '\nExit codes: 0 done, 1 refused or failed, 2 usage, 3 Temporal unreachable, 4 not found.');
  const commands = [
    upCommand(),
    workerCommand(),
    doctorCommand(),
    runCommand(),
    taskCommand(),
    dispatchCommand(),
    directCommand(),
    stopCommand(),
    watchCommand(),
    logsCommand(),
    whyCommand(),
    auditCommand(),
    decideCommand(),
    incidentCommand(),
    orphansCommand(),
    projectCommand(),
    receiptsCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  guardUsage(program);
  return program;
}

/** The version of the package that dist/cli/ is in. */
function version(): string {
  const text = readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8');
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}
