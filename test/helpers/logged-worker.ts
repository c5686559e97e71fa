import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { end } from './process';
import { root } from './root';

/** A worker process whose every output is kept, also when it refuses to start. */
export class LoggedWorker {
  private said = '';
  private readonly child: ChildProcess;
  /** Settles with its exit code. */
  readonly ended: Promise<number | null>;

  constructor(env: NodeJS.ProcessEnv) {
    const args = [join(root, 'bin', 'perdure.js'), 'worker', '--json'];
    this.child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.said += text));
    }
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** Everything that it printed so far. */
  get log(): string {
    return this.said;
  }

  get isReady(): boolean {
    return this.said.includes('"ready":true');
  }

  stop(): Promise<void> {
    return end(this.child, 'SIGTERM');
  }
}
