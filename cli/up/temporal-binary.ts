import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { refuse } from '../../client/outcome';

type Env = Readonly<Record<string, string | undefined>>;

/** Finds the Temporal CLI where set-up leaves it: TEMPORAL_CLI_PATH, PATH, then the homes' `bin`. */
export function findTemporalBinary(env: Env, home: string): string {
  const named = env['TEMPORAL_CLI_PATH'];
  if (named) {
    if (isExecutable(named)) return named;
    refuse('executable_unavailable', `TEMPORAL_CLI_PATH names ${named}, which is no executable file`, {
      hint: 'Correct TEMPORAL_CLI_PATH or unset it.',
    });
  }
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = [...folders, join(home, 'bin'), join(homedir(), '.perdure', 'bin')];
  const found = places.map((folder) => join(folder, 'temporal')).find(isExecutable);
  if (found !== undefined) return found;
  return refuse('executable_unavailable', 'the Temporal CLI is neither on PATH nor in the home', {
    hint: 'Run `npm run setup` in the clone, install it from https://docs.temporal.io/cli, or set TEMPORAL_CLI_PATH.',
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
