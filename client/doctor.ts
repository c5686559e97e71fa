import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FAILURES, failure, type Failure } from '../contract/failures';
import { hostQueue, ORCHESTRATOR_QUEUE, SEARCH_ATTRIBUTE } from '../contract/names';
import { configFile, type HomeConfig } from './home';
import { messageOf, RefusedError, toFailure } from './outcome';
import { payloadsOf } from './payloads';
import { refuseClear } from './remembered-keys';
import { pollersOf } from './pollers';
import { findCodex, isTooOld, OLDEST_CODEX } from './provider-check';
import { call, type Session } from './session';
import { readSecret, shownWebhook } from './webhook';

const run = promisify(execFile);

/** One thing that the product needs, and whether it is there. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly hint?: string;
}

export interface Diagnosis {
  readonly home: string;
  readonly hostId: string;
  readonly tenantId: string;
  readonly checks: Check[];
  /** What a dispatch gets when no flag says otherwise. */
  readonly defaults: HomeConfig;
}

/** Checks everything that a task needs on this host; the diagnosis is there in success and in failure. */
export async function diagnose(session: Session): Promise<({ success: true } | Failure) & Diagnosis> {
  const { path, hostId, tenantId, config } = session.home;
  const local = await Promise.all([
    checkNode(),
    checkHome(path),
    checkConfig(session),
    checkGit(),
    checkCodex(session),
    checkSandbox(session),
    checkWebhook(session),
    check('payloads', () => describePayloads(session)),
  ]);
  const { checks: remote, unreachable } = await checkTemporal(session);
  const checks = [...local, { name: 'receipts', ok: true, detail: join(path, 'receipts.db') }, ...remote];
  const diagnosis = { home: path, hostId, tenantId, checks, defaults: shown(config) };
  if (unreachable !== undefined) return { ...unreachable, ...diagnosis };
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  if (failed.length === 0) return { success: true, ...diagnosis };
  return { ...failure('CHECK_FAILED', `not in order: ${failed.join(', ')}`), ...diagnosis };
}

/** Runs one check: what it answers is the detail, what it throws the trouble. */
async function check(name: string, work: () => Promise<string> | string, hint?: string): Promise<Check> {
  try {
    return { name, ok: true, detail: await work() };
  } catch (error) {
    const known = toFailure(error);
    const advice = known?.hint ?? hint;
    return { name, ok: false, detail: known?.error ?? messageOf(error), ...(advice !== undefined && { hint: advice }) };
  }
}

const checkNode = (): Promise<Check> =>
  check(
    'node',
    () => {
      const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
      if (major < 20 || (major === 20 && minor < 20)) throw new Error(`${process.version} is too old`);
      return process.version;
    },
    'Use Node.js 20.20 or newer.',
  );

const checkHome = (path: string): Promise<Check> =>
  check(
    'home',
    async () => {
      const probe = join(path, `.probe-${String(process.pid)}`);
      await writeFile(probe, '', { mode: 0o600 });
      await rm(probe);
      return path;
    },
    'Set PERDURE_HOME to a directory that you may write to.',
  );

const checkConfig = ({ home }: Session): Promise<Check> =>
  check('config', () => {
    if (home.configTrouble !== undefined) throw new RefusedError(home.configTrouble);
    return `${configFile(home.path)}, or the defaults where it says nothing`;
  });

const checkGit = (): Promise<Check> =>
  check('git', async () => (await run('git', ['--version'], { timeout: 10_000 })).stdout.trim(), 'Install git.');

const checkCodex = ({ env }: Session): Promise<Check> =>
  check(
    'codex',
    async () => {
      const { path, source } = findCodex(env);
      const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
      const found = `${stdout.trim().slice(0, 200)} (${source}: ${path})`;
      if (isTooOld(stdout)) throw new Error(`${found} is too old`);
      return found;
    },
    `${FAILURES.executable_unavailable.hint} Codex has to be ${OLDEST_CODEX} or newer.`,
  );

const checkSandbox = ({ env }: Session): Promise<Check> =>
  check(
    'codex sandbox',
    async () => {
      const { path } = findCodex(env);
      // A home of its own: this must neither need nor change the user's.
      const home = await mkdtemp(join(tmpdir(), 'perdure-doctor-'));
      try {
        await run(path, ['sandbox', '--', 'true'], { timeout: 15_000, env: { ...env, CODEX_HOME: home } });
        return 'commands run in it';
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    },
    'Allow user namespaces on this host; without the sandbox every command of an agent fails.',
  );

const checkWebhook = ({ home }: Session): Promise<Check> =>
  check('receipt webhook', async () => {
    const { receipts } = home.config;
    if (receipts === undefined) return 'none: receipts stay in the store (receipts.webhook in config.json)';
    await readSecret(home.path, receipts);
    return `${shownWebhook(receipts.webhook)}, signed by ${receipts.secretFile}`;
  });

/** The configuration as anyone may read it. */
function shown(config: HomeConfig): HomeConfig {
  const { receipts } = config;
  return receipts === undefined
    ? config
    : { ...config, receipts: { ...receipts, webhook: shownWebhook(receipts.webhook) } };
}

async function checkTemporal(session: Session): Promise<{ checks: Check[]; unreachable?: Failure }> {
  try {
    await session.client();
  } catch (error) {
    const known = toFailure(error);
    if (known === undefined) throw error;
    const { error: detail, hint } = known;
    const checks = [{ name: 'temporal', ok: false, detail, ...(hint !== undefined && { hint }) }];
    return known.code === 'TEMPORAL_UNREACHABLE' ? { checks, unreachable: known } : { checks };
  }
  const { hostId } = session.home;
  const checks = await Promise.all([
    check('temporal', () => describeServer(session)),
    check('search attributes', () => attributes(session), 'Start a worker once: it registers them.'),
    check('orchestrator worker', () => pollers(session, ORCHESTRATOR_QUEUE, 'workflow'), FAILURES.WORKER_SILENT.hint),
    check('host worker', () => pollers(session, hostQueue(hostId), 'activity'), FAILURES.WORKER_SILENT.hint),
  ]);
  return { checks };
}

async function describeServer(session: Session): Promise<string> {
  const { address, namespace, source } = session.plan();
  await call(session, (client) => client.workflowService.describeNamespace({ namespace }));
  return `${address}, namespace ${namespace} (${source})`;
}

function describePayloads({ env, home }: Session): string {
  const { keyIds } = payloadsOf(env);
  refuseClear(home.path, keyIds);
  if (keyIds.length === 0) return 'in clear; PERDURE_PAYLOAD_KEYS names a file of keys that encrypt them';
  return `encrypted by the key ${keyIds.join(', opened by ')}`;
}

async function attributes(session: Session): Promise<string> {
  const { namespace } = session.plan();
  const { customAttributes } = await call(session, ({ connection }) =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const names = Object.values(SEARCH_ATTRIBUTE).map(({ name }) => name);
  const missing = names.filter((name) => !Object.hasOwn(customAttributes, name));
  if (missing.length > 0) throw new Error(`not registered: ${missing.join(', ')}`);
  return `${String(names.length)} registered`;
}

async function pollers(session: Session, queue: string, kind: 'workflow' | 'activity'): Promise<string> {
  const found = await pollersOf(session, queue, kind);
  if (found.length === 0) throw new Error(`no worker polls ${queue}`);
  return `${queue}: ${[...new Set(found)].join(', ')}`;
}
