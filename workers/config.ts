import { join } from 'node:path';
import { z } from 'zod';
import { resolveConnection, type ConnectionPlan } from '../client/connection';
import { openHome, type Home } from '../client/home';

export const workerRole = z.enum(['all', 'orchestrator', 'host']);
export type WorkerRole = z.infer<typeof workerRole>;

export type Env = Readonly<Record<string, string | undefined>>;

/** What every worker of this process is made from. */
export interface WorkerConfig {
  readonly env: Env;
  readonly home: Home;
  readonly plan: ConnectionPlan;
}

/** Reads the environment and opens the home; refuses what cannot be used. */
export async function loadWorkerConfig(env: Env): Promise<WorkerConfig> {
  const home = await openHome(env);
  return { env, home, plan: resolveConnection(env, home) };
}

/**
 * The workflows, bundled by scripts/build.mjs: bundling at worker start would cost seconds. Where payloads are encrypted it
 * is the bundle that puts its failures into payloads; nothing else differs.
 */
export const workflowBundlePath = ({ payloads }: ConnectionPlan): string =>
  join(__dirname, '..', payloads.keyIds.length === 0 ? 'workflow-bundle.js' : 'workflow-bundle.encoded.js');

/** The detached process that owns one provider process. */
export const runnerEntry = join(__dirname, 'runner', 'main.js');

/** What that process starts in place of Codex when an app server has the thread open. */
export const turnEntry = join(__dirname, 'runner', 'app-server-turn.js');
