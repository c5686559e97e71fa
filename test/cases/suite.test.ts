import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { randomUUID } from 'node:crypto';
import { allProcesses } from '../helpers/outside-view';
import { root } from '../helpers/root';

const FILES = ['test/workflows/reopen-task.test.ts', 'test/workflows/fail-orphan.test.ts', 'test/client/home.test.ts'];
const MARK = 'PERDURE_SUITE';

/** Runs some test files in a jest of their own, which has to end by itself. */
async function run(...options: string[]) {
  const mark = randomUUID();
  const jestBin = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const { JEST_WORKER_ID: _id, NODE_OPTIONS: _options, ...inherited } = process.env;
  const child = spawn(process.execPath, [jestBin, ...options, ...FILES], {
    cwd: root,
    env: { ...inherited, [MARK]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = (await once(child, 'exit')) as [number];
  const left = allProcesses().filter(({ environment }) => environment.includes(`\0${MARK}=${mark}\0`));
  return { status, said: (await said).join('\n'), left: left.map(({ command }) => command) };
}

describe('the tests', () => {
  it.each([
    ['in one process, with a look for open handles', ['--runInBand', '--detectOpenHandles']],
    ['side by side, in random order', ['--maxWorkers', '2', '--randomize']],
  ])('%s are green, end by themselves and leave no process (P72)', async (_how, options) => {
    const { status, said, left } = await run(...options);
    expect({ status, left }).toEqual({ status: 0, left: [] });
    expect(said).not.toMatch(
      /open handle|did not exit|failed to exit gracefully|Unhandled|IllegalStateError|shutdown/i,
    );
  });
});
