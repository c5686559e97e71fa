import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Starts a node process, whose stdin is a pipe that nobody writes to, and waits for its first line on stdout. */
export async function startNode(
  entry: string,
  args: string[],
  place: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string | undefined } = {},
): Promise<[ChildProcess, string]> {
  const child = spawn(process.execPath, [entry, ...args], { ...place, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const first = once(lines, 'line') as Promise<[string]>;
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${entry} ended with ${String(code)} before it was ready`);
  });
  const [line] = await Promise.race([first, ended]);
  lines.close();
  child.stdout.resume();
  return [child, line];
}

/** Sends a signal to a child of ours and, for a final one, waits for its end. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
