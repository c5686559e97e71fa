// node reaper.js FOLDER: when its input ends, ends every process that was started on the folder and removes it.
import { rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { endAll, processesOn } from '../../../scripts/stage/processes';

async function main(folder: string): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  await finished(process.stdin.resume(), { writable: false }).catch(() => undefined);
  // One that is ended may have been about to start another.
  for (let found = processesOn(folder); found.length > 0; found = processesOn(folder)) await endAll(found);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

void main(process.argv[2] ?? '');
