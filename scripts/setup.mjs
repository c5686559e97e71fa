// Makes a fresh clone ready: packages, the Temporal CLI, the build, and with --tests what only tests need.
// No dependencies; quick when nothing is to be done.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect, provideBinary } from './binary.mjs';
import { installPackages } from './packages.mjs';
import { temporalCli, testServer } from './temporal-binaries.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, 'node_modules', '.perdure-setup.json');
const lockFolder = join(root, '.cache', 'setup.lock');
const isQuiet = process.argv.includes('--quiet');
const isForTests = process.argv.includes('--tests');

const SOURCE_FOLDERS = ['contract', 'workflows', 'activities', 'workers', 'client', 'cli', 'scripts', 'bench', 'test'];
const OUTPUTS = ['dist/cli/main.js', 'dist/workflow-bundle.js', 'dist/workflow-bundle.encoded.js'];
const LOCK_WITHOUT_OWNER_MS = 10_000;

const say = (text) => void (isQuiet || process.stderr.write(`setup: ${text}\n`));

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

function checkTools() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 20)) {
    throw new Error(`Node ${process.versions.node} is too old; install Node 20.20 or newer.`);
  }
  if (spawnSync('git', ['--version'], { stdio: 'ignore' }).status !== 0) {
    throw new Error('git is missing; tasks work in git worktrees. Install git.');
  }
}

/** Inspecting the binary costs a tenth of a second, so a file that was fine and has not changed is not run again. */
function inspectOnce(known) {
  return (binary, path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    const seal = found ? `${path}:${found.size}:${found.mtimeMs}` : '';
    if (found && known.seal === seal) return { version: known.version };
    const result = inspect(binary, path);
    if (result.version) Object.assign(known, { seal, version: result.version });
    return result;
  };
}

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.(ts|mjs)$|^tsconfig\.json$/.test(entry.name)) yield path;
  }
}

function sourceDigest() {
  const hash = createHash('sha256').update(process.versions.node);
  const folders = SOURCE_FOLDERS.map((folder) => join(root, folder)).filter((folder) => existsSync(folder));
  const files = folders.flatMap((folder) => [...sources(folder)]).sort();
  for (const file of [join(root, 'package-lock.json'), join(root, 'tsconfig.json'), ...files]) {
    hash.update(`\0${file.slice(root.length)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** Builds when the sources are not those of the last build; answers their digest. */
function buildIfChanged(built) {
  const digest = sourceDigest();
  if (digest === built && OUTPUTS.every((path) => existsSync(join(root, path)))) return digest;
  say('building ...');
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The build failed; its output above says why.');
  return digest;
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** One set-up at a time; a lock whose owner is gone is taken over. */
async function lock() {
  mkdirSync(dirname(lockFolder), { recursive: true });
  for (let isFirst = true; ; isFirst = false) {
    try {
      mkdirSync(lockFolder);
      writeFileSync(join(lockFolder, 'owner.json'), JSON.stringify({ pid: process.pid }));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const { pid } = readJson(join(lockFolder, 'owner.json'));
    const age = Date.now() - (statSync(lockFolder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (pid ? !isRunning(pid) : age > LOCK_WITHOUT_OWNER_MS) breakLock();
    else if (isFirst) say(`waiting for another set-up${pid ? ` (pid ${pid})` : ''} ...`);
    await sleep(100);
  }
}

function breakLock() {
  const aside = `${lockFolder}.${process.pid}`;
  try {
    renameSync(lockFolder, aside);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  rmSync(aside, { recursive: true, force: true });
}

async function setup() {
  checkTools();
  await lock();
  try {
    installPackages(root, say);
    const stamp = readJson(stampFile);
    const known = { seal: stamp.seal, version: stamp.version };
    const temporal = await provideBinary(temporalCli, process.env, { say, check: inspectOnce(known) });
    const digest = buildIfChanged(stamp.digest);
    writeFileSync(stampFile, JSON.stringify({ ...known, digest }));
    say(`ready; Temporal CLI ${temporal.version} from ${temporal.from} (${temporal.path})`);
  } finally {
    rmSync(lockFolder, { recursive: true, force: true });
  }
  // Without the lock: nobody who only wants to start the product waits for what tests need.
  if (isForTests) await provideTestServer();
}

async function provideTestServer() {
  const { from, path } = await provideBinary(testServer, process.env, { say });
  say(`ready for tests; time-skipping server from ${from} (${path})`);
}

await setup().catch((error) => {
  process.stderr.write(`setup: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
