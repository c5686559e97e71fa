import { constants, accessSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';

/** Why there is no program to run; a caller reports it instead of failing. */
export class ExecutableUnavailableError extends Error {
  readonly code = 'executable_unavailable';
}

const VENDOR_TRIPLES: Record<string, string> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};

const platform = `${process.platform}-${process.arch}`;

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The platform's binary, as it is installed beside or inside the launcher's package. */
function binaryBeside(packageDirectory: string): string | undefined {
  const triple = VENDOR_TRIPLES[platform];
  if (triple === undefined) return undefined;
  const packages = [
    join(dirname(packageDirectory), `codex-${platform}`),
    join(packageDirectory, 'node_modules', '@openai', `codex-${platform}`),
    packageDirectory,
  ];
  return packages
    .flatMap((root) => ['bin', 'codex'].map((folder) => join(root, 'vendor', triple, folder, 'codex')))
    .find(isExecutableFile);
}

/** The npm launcher is left running by no SIGKILL but its child is, so the binary behind it is started instead. */
function behindLauncher(path: string): string {
  const target = realpathSync(path);
  if (basename(target) !== 'codex.js') return path;
  return binaryBeside(dirname(dirname(target))) ?? path;
}

function installedBinary(): string | undefined {
  try {
    return binaryBeside(dirname(require.resolve('@openai/codex/package.json')));
  } catch {
    return undefined;
  }
}

/**
 * Finds the Codex program: PERDURE_CODEX_BIN, else the installed optional package, else `codex` on PATH.
 * @throws ExecutableUnavailableError
 */
export function findCodex(env: NodeJS.ProcessEnv): string {
  const chosen = env['PERDURE_CODEX_BIN'];
  if (chosen !== undefined && chosen !== '') {
    const path = resolve(chosen);
    if (isExecutableFile(path)) return behindLauncher(path);
    throw new ExecutableUnavailableError(`PERDURE_CODEX_BIN names ${path}, which is not an executable file`);
  }
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'codex'))
    .find(isExecutableFile);
  const found = installedBinary() ?? (onPath === undefined ? undefined : behindLauncher(onPath));
  if (found !== undefined) return found;
  throw new ExecutableUnavailableError('no codex program: the package @openai/codex is missing, and PATH has none');
}
