import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { refuse } from './outcome';

type Env = Readonly<Record<string, string | undefined>>;

/** Where the Codex CLI was found, and by which rule. */
export interface FoundCodex {
  readonly path: string;
  readonly source: 'PERDURE_CODEX_BIN' | 'package' | 'PATH';
}

/** The oldest Codex that takes what a run asks of it: a mark at the start, and a schema for the last message of a resume. */
export const OLDEST_CODEX = '0.149.1';

/** Whether what `codex --version` prints names a version that is too old; a program that names none is not judged. */
export function isTooOld(printed: string): boolean {
  const version = /^codex-cli (\d+\.\d+\.\d+)/.exec(printed)?.[1];
  return version !== undefined && version.localeCompare(OLDEST_CODEX, 'en', { numeric: true }) < 0;
}

const TARGETS: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};

/** Finds the Codex CLI as a host worker does: PERDURE_CODEX_BIN, the installed package's binary, PATH; else refuses. */
export function findCodex(env: Env): FoundCodex {
  const named = env['PERDURE_CODEX_BIN'];
  if (named !== undefined && named !== '') {
    if (isAbsolute(named) && isExecutable(named)) return { path: named, source: 'PERDURE_CODEX_BIN' };
    return refuse(
      'executable_unavailable',
      `PERDURE_CODEX_BIN names ${named}, which is no absolute path of a program`,
      {
        hint: 'Set PERDURE_CODEX_BIN to the absolute path of the Codex binary, or unset it to use the installed package.',
      },
    );
  }
  const packaged = packagedCodex();
  if (packaged !== undefined) return { path: packaged, source: 'package' };
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, 'codex'))
    .find(isExecutable);
  if (onPath !== undefined) return { path: onPath, source: 'PATH' };
  return refuse('executable_unavailable', 'the Codex CLI was found neither as a package nor on PATH');
}

/** The native binary of the installed package, beside or inside its launcher's package. */
function packagedCodex(): string | undefined {
  const platform = `${process.platform}-${process.arch}`;
  const target = TARGETS[platform];
  if (target === undefined) return undefined;
  try {
    const launcher = dirname(require.resolve('@openai/codex/package.json'));
    const beside = join(dirname(launcher), `codex-${platform}`);
    const inside = join(launcher, 'node_modules', '@openai', `codex-${platform}`);
    return [beside, inside, launcher].map((root) => join(root, 'vendor', target, 'bin', 'codex')).find(isExecutable);
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
