// npm run demo: a worker is killed while Codex works, and nothing runs twice. No key, no network, nothing left behind.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RefusedError } from '../client/outcome';
import { findCodex } from '../client/provider-check';
import { completeAct, dispatchAct, killAct, type Scene } from './demo/acts';
import { auditAct, lookAct, proofAct } from './demo/proof';
import { makeRepository } from './demo/repository';
import { Show } from './demo/show';
import { startScriptedEndpoint } from './scripted-endpoint';
import { LocalStage } from './stage/local-stage';

const LIMIT_MS = 110_000;

/** Whether Codex can use its own sandbox here; it needs user namespaces. */
function hasSandbox(codex: string, env: NodeJS.ProcessEnv): boolean {
  try {
    execFileSync(codex, ['sandbox', '--', 'true'], { env, stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

/** Plays the acts on an open stage. */
async function play(scene: Omit<Scene, 'sandbox' | 'repository'>, codex: string, isKept: boolean): Promise<void> {
  const { show, stage, endpoint } = scene;
  show.act('A server, a worker, and a model that plays a script');
  const worker = await stage.startWorker();
  const repository = makeRepository(join(stage.root, 'repository'));
  const isSandboxed = hasSandbox(codex, stage.env);
  show.line(`Temporal  ${stage.server.address}, embedded, with a database file`);
  show.line(`worker    pid ${String(worker.pid)}, host ${worker.hostId}`);
  show.line(`Codex     ${codex}`);
  show.line(`model     ${endpoint.url}, scripted: no key, no network`);
  show.line(`home      ${stage.home}`);
  if (!isSandboxed) show.line('This machine allows Codex no sandbox, so it runs without one here.');
  const whole: Scene = { ...scene, repository, sandbox: isSandboxed ? 'workspace-write' : 'danger-full-access' };
  const run = await dispatchAct(whole);
  await killAct(whole, worker, run);
  await completeAct(whole, run);
  const attempt = await auditAct(whole);
  await proofAct(whole, run, attempt);
  lookAct(whole, isKept);
}

/** Opens the stage, plays, and takes everything down again whatever happened. */
async function perform(show: Show, signal: AbortSignal, isKept: boolean): Promise<void> {
  const { PERDURE_CODEX_BIN } = process.env;
  const own = PERDURE_CODEX_BIN === undefined ? {} : { PERDURE_CODEX_BIN };
  const { path: codex } = findCodex(process.env);
  const stage = await LocalStage.open({ name: 'perdure-demo', env: { ...own, SCRIPTED_KEY: 'none' }, signal });
  const codexHome = join(stage.root, 'codex');
  stage.env['CODEX_HOME'] = codexHome;
  const endpoint = await startScriptedEndpoint(codexHome);
  let isDone = false;
  try {
    await play({ show, stage, endpoint, signal }, codex, isKept);
    isDone = true;
  } finally {
    const left = await stage.close({ isKept });
    await endpoint.close();
    if (isDone) {
      show.act('The end');
      show.check('no process is left', left.length === 0);
      if (isKept) show.line(`kept: ${stage.root}`);
      else show.check(`no file is left: ${stage.root}`, !existsSync(stage.root));
    }
  }
}

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({ args: argv, options: { keep: { type: 'boolean', default: false } } });
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      interrupted.abort(new Error('interrupted'));
    });
  }
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new Error(`not done within ${String(LIMIT_MS / 1_000)} seconds`));
  }, LIMIT_MS);
  const show = new Show();
  const signal = AbortSignal.any([interrupted.signal, late.signal]);
  try {
    await perform(show, signal, values.keep);
  } catch (error) {
    const cause: unknown = signal.aborted ? signal.reason : error;
    process.stderr.write(`demo: ${cause instanceof Error ? cause.message : String(cause)}\n`);
    if (error instanceof RefusedError && error.failure.code === 'EXECUTABLE_UNAVAILABLE') {
      process.stderr.write(`The demo needs the real programs. ${error.failure.hint ?? ''}\n`);
    }
    return interrupted.signal.aborted ? 130 : 1;
  } finally {
    clearTimeout(timer);
  }
  return show.hasFailed ? 1 : 0;
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
