// Finds a binary that set-up needs, or fetches it into the cache. No dependencies.
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

const LEFTOVER_AGE_MS = 3_600_000;

/**
 * A binary that set-up provides.
 * @typedef {object} Binary
 * @property {string} title what people call it
 * @property {string} file its name on PATH and in the cache
 * @property {string} variable the environment variable that names one
 * @property {string} install how a person installs it on PATH
 * @property {(path: string) => { version: string } | { problem: string }} inspect runs an executable file once
 * @property {[string, (folder: string) => Promise<string> | string][]} sources fetch it into a folder; their names say where from
 */

/** The folder that holds the binaries for `perdure up`, the tests and set-up alike. */
export const cacheFolder = (env) => join(resolve(env.PERDURE_HOME || join(env.HOME || homedir(), '.perdure')), 'bin');

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Its version, or why it cannot be used. */
export const inspect = (binary, path) =>
  isExecutable(path) ? binary.inspect(path) : { problem: 'is no executable file' };

function onPath({ file }, env) {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, file)).find(isExecutable);
}

/** The usual home's cache, where another home is named: a large file need not be there twice. */
function usualCache({ file }, env) {
  const folder = cacheFolder({ HOME: env.HOME });
  return folder === cacheFolder(env) ? [] : [['usual cache', join(folder, file)]];
}

/** Looks where a binary may be already. `tries` says what was looked at. */
export function findBinary(binary, env, check = inspect) {
  const { file, variable } = binary;
  const tries = [];
  const places = [
    [variable, env[variable]],
    ['PATH', onPath(binary, env)],
    ['cache', join(cacheFolder(env), file)],
    ...usualCache(binary, env),
  ];
  for (const [from, path] of places) {
    if (!path) {
      tries.push(from === 'PATH' ? `PATH: no ${file} on it` : `${from}: not set`);
      continue;
    }
    const { version, problem } = check(binary, path);
    if (version) return { path, version, from, tries };
    tries.push(`${from}: ${path} ${problem}`);
    // A path that somebody names is meant: another binary in its place would be a surprise.
    if (from === variable) return { tries, isNamed: true };
  }
  return { tries };
}

/** An interrupted fetch leaves its folder behind, with a large file in it. */
function removeLeftovers(cache) {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name.startsWith('.fetch-') && age > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Fetches the binary into the cache. Answers like findBinary. */
async function fetchBinary(binary, env, say) {
  const cache = cacheFolder(env);
  const path = join(cache, binary.file);
  const tries = [];
  mkdirSync(cache, { recursive: true });
  removeLeftovers(cache);
  for (const [from, fetchInto] of binary.sources) {
    say(`${binary.title}: trying ${from} ...`);
    const folder = mkdtempSync(join(cache, '.fetch-'));
    try {
      const fetched = await fetchInto(folder);
      const { version, problem } = inspect(binary, fetched);
      if (!version) throw new Error(`what it brought ${problem}`);
      renameSync(fetched, path);
      return { path, version, from, tries };
    } catch (error) {
      tries.push(`${from}: ${error.message}`);
      say(`${binary.title}: ${tries.at(-1)}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return { tries };
}

/** Finds or fetches a binary; a failure names each try and what to do. */
export async function provideBinary(binary, env, { say, check = inspect }) {
  const found = findBinary(binary, env, check);
  if (found.path) return found;
  const fetched = found.isNamed ? { tries: [] } : await fetchBinary(binary, env, say);
  if (fetched.path) return fetched;
  const { title, file, variable, install } = binary;
  const tries = [...found.tries, ...fetched.tries].map((line) => `  - ${line}`).join('\n');
  const advice = found.isNamed
    ? `Correct ${variable} or unset it.`
    : `${install} on PATH, set ${variable}, or put it at ${join(cacheFolder(env), file)}.`;
  throw new Error(`No usable ${title}.\n${tries}\n${advice}`);
}
