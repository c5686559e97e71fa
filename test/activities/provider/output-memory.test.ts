import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ReaderFigures } from '../../../bench/output-reader';
import { root } from '../../helpers/root';

/** What reading may take beyond the output that is there already, MB: some lines of the longest, in all their forms. */
const BOUND = 250;

async function read(kind: string, megabytes: number): Promise<ReaderFigures> {
  const reader = join(root, 'dist', 'bench', 'output-reader.js');
  const { stdout } = await promisify(execFile)(process.execPath, [reader, kind, String(megabytes)]);
  return JSON.parse(stdout) as ReaderFigures;
}

describe('memory of a process that reads provider output', () => {
  it.each([
    ['line', 200, { oversized: 1, events: 0 }],
    ['commands', 1_000, { oversized: 0 }],
    ['large', 1_000, { oversized: 0 }],
  ])('stays bounded with the output %s of %d MB (CX-15, P14)', async (kind, megabytes, expected) => {
    const figures = await read(kind, megabytes);
    process.stderr.write(`${kind}: ${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject(expected);
    expect(figures.megabytes).toBeGreaterThan(megabytes * 0.9);
    expect(figures.peak - figures.before).toBeLessThan(BOUND);
  });
});
