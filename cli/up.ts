import { Command } from 'commander';
import { jsonLine } from './escape';
import { note, printFailure, printLine } from './output';
import type { CommonOptions } from './perform';
import type { UpReady } from './up/run-up';
import { integer } from './values';

interface UpFlags extends CommonOptions {
  readonly port?: number;
  readonly uiPort?: number;
}

const port = integer(0, 65_535);

/** `perdure up`: the Temporal server and the workers of this machine, until Ctrl-C. */
export function upCommand(): Command {
  return new Command('up')
    .description('run the Temporal server and the workers of this machine until Ctrl-C')
    .option('--port <port>', 'port of the Temporal server; 0 is any free one (default: 7233)', port)
    .option('--ui-port <port>', 'port of the web UI; 0 is any free one (default: 8233)', port)
    .option('--json', 'one JSON document on stdout when all is ready')
    .action(up);
}

async function up({ json: isJson = false, port, uiPort }: UpFlags): Promise<void> {
  const { outcomeOf } = await import('../client/outcome.js');
  const { runUp } = await import('./up/run-up.js');
  const ending = new AbortController();
  const say = (text: string): void => {
    note(`perdure: ${text}`);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!ending.signal.aborted) say('stopping: runs are handed over, agents go on');
      ending.abort();
    });
  }
  const onReady = (ready: UpReady): void => {
    printReady(isJson, ready);
  };
  const outcome = await outcomeOf(async () => {
    await runUp({ env: process.env, port, uiPort, note: say, onReady, signal: ending.signal });
    return {};
  });
  // A start that the user gave up fails in some way; that is no failure.
  if (!outcome.success && !ending.signal.aborted) printFailure(isJson, outcome);
}

function printReady(isJson: boolean, { address, ui, pid, home }: UpReady): void {
  if (isJson) {
    printLine(jsonLine({ success: true, ready: true, address, ui, pid }));
    return;
  }
  printLine(`Temporal  ${address}`);
  if (ui !== null) printLine(`Web UI    ${ui}`);
  printLine(`Home      ${home}`);
  printLine('Ready. Ctrl-C ends it; agents that run go on, and the next `perdure up` follows them again.');
}
