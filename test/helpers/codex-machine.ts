import type { ChildProcess } from 'node:child_process';
import { DevServer } from './dev-server';
import { Machine } from './machine';
import { SCRIPTED_KEY, ScriptedEndpoint } from './scripted-endpoint';

/** A machine whose worker runs the real Codex on a scripted model, with a server of its own. */
export interface CodexMachine {
  readonly server: DevServer;
  readonly machine: Machine;
  readonly endpoint: ScriptedEndpoint;
  readonly codexHome: string;
  readonly worker: ChildProcess;
}

export async function openCodexMachine(): Promise<CodexMachine> {
  const server = await DevServer.start();
  const machine = await Machine.make(server, SCRIPTED_KEY);
  const codexHome = machine.home.file('codex-home');
  const endpoint = await ScriptedEndpoint.start(codexHome);
  const worker = await machine.startWorker('all', { CODEX_HOME: codexHome });
  return { server, machine, endpoint, codexHome, worker };
}

export async function closeCodexMachine({ server, machine, endpoint }: Omit<CodexMachine, 'worker' | 'codexHome'>) {
  await machine.dispose();
  await endpoint.close();
  await server.stop();
}

/** Creates a task with a script for the model and waits for its run. */
export const runScript = (machine: Machine, id: string, [script, ...options]: [string[], ...string[]]) =>
  machine.begin(['run', '--title', `Task ${id}`, '--id', id, '--description', '-', ...options], {
    stdin: script.join('\n'),
  });
