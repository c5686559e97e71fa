// Brings node_modules to what package-lock.json asks for. No dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CODEX = 'node_modules/@openai/';

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** Whether everything is installed that must be, by npm's own record of what it put there. */
function areCurrent(root, wanted) {
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (!installed) return false;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const hasAll = Object.keys({ ...dependencies, ...devDependencies }).every(
    (name) => installed[`node_modules/${name}`],
  );
  return hasAll && Object.entries(installed).every(([path, { version }]) => wanted[path]?.version === version);
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
  if (!error && status === 0) return;
  const why = error?.message ?? `exit code ${status}`;
  throw new Error(`${command} ${args[0]} failed (${why}); its output above says why. Then run npm run setup again.`);
}

const isMusl = () => existsSync(`/lib/ld-musl-${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch]}.so.1`);

/** Native halves of packages, which npm counts as optional and leaves out together with Codex. */
function missingNatives(root, wanted) {
  const isMissing = ([path, { optional, os, cpu, libc }]) =>
    optional &&
    os?.includes(process.platform) &&
    cpu?.includes(process.arch) &&
    !path.startsWith(CODEX) &&
    !existsSync(join(root, path)) &&
    (!libc || libc.includes(isMusl() ? 'musl' : 'glibc'));
  return Object.entries(wanted).filter(isMissing);
}

/** Puts them where npm would have, and touches nothing else. */
function addNatives(root, natives) {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(root, '.cache', 'natives-'));
  try {
    for (const [path, { version }] of natives) {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const target = mkdtempSync(join(folder, 'package-'));
      run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', target], folder);
      const archive = join(target, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
      run('tar', ['-xzf', archive, '-C', target]);
      mkdirSync(dirname(join(root, path)), { recursive: true });
      renameSync(join(target, 'package'), join(root, path));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs what is missing or of another version. Without the optional Codex CLI everything else still works. */
export function installPackages(root, say) {
  const wanted = readPackages(join(root, 'package-lock.json')) ?? {};
  if (!areCurrent(root, wanted)) {
    say('installing the packages with npm ci; with the optional Codex CLI that is a large download (about 420 MB');
    say('unpacked). To leave it out: npm ci --omit=optional, then npm run setup, and name yours by PERDURE_CODEX_BIN.');
    run('npm', ['ci', '--no-audit', '--no-fund', '--include=dev'], root);
  }
  const natives = missingNatives(root, wanted);
  if (natives.length === 0) return;
  say('adding the native packages that npm left out with the optional ones ...');
  addNatives(root, natives);
}
