import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PERDURE } from './worker';
import type { LocalStage } from './local-stage';

/** A command of ours under way. */
export interface RunningCommand {
  readonly child: ChildProcess;
  /** Its exit code, or null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts a `perdure` command on a stage and hands over its lines, of both streams, as they come. */
export function startPerdure(stage: LocalStage, args: string[], onLine: (line: string) => void): RunningCommand {
  const child = spawn(process.execPath, [PERDURE, ...args], {
    env: stage.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  stage.children.add(child);
  const streams = [child.stdout, child.stderr].map((input) => {
    const lines = createInterface({ input });
    lines.on('line', onLine);
    return once(lines, 'close');
  });
  const exit = once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : null));
  return { child, ended: Promise.all([exit, ...streams]).then(([code]) => code) };
}
