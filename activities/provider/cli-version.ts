import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What the name of a platform's package adds to the version of the binary in it. */
const PLATFORM = /-(?:linux|darwin|win32)-\w+$/;

/**
 * The version of a binary, read from the package that holds it; null when no package says it. The binary itself is
 * never started for this: every start of a provider is an attempt's, and is counted.
 */
export function cliVersion(binary: string): string | null {
  for (let directory = dirname(target(binary)); directory !== dirname(directory); directory = dirname(directory)) {
    const version = versionIn(join(directory, 'package.json'));
    if (version !== null) return version;
  }
  return null;
}

/** What a link names in the end. */
function target(binary: string): string {
  try {
    return realpathSync(binary);
  } catch {
    return binary;
  }
}

function versionIn(file: string): string | null {
  try {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown; version?: unknown };
    const isCodex = typeof manifest.name === 'string' && manifest.name.startsWith('@openai/codex');
    return isCodex && typeof manifest.version === 'string'
      ? `codex-cli ${manifest.version.replace(PLATFORM, '')}`
      : null;
  } catch {
    return null;
  }
}
