import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchOptions } from '../main';
import type { ReaderFigures } from '../output-reader';
import { round } from '../overhead/figures';
import { LOADS, type LoadKind } from './load';

const run = promisify(execFile);
const MEGABYTES = 500;

/** Reads each kind of output in a process of its own. */
export async function output({ isJson, signal }: BenchOptions): Promise<void> {
  const kinds = Object.keys(LOADS) as LoadKind[];
  const figures: Partial<Record<LoadKind, ReaderFigures & { ratio: number }>> = {};
  for (const kind of kinds) {
    process.stderr.write(`${kind}: ${String(MEGABYTES)} MB\n`);
    const read = await readInProcess(kind, MEGABYTES, signal);
    figures[kind] = { ...read, ratio: read.product / read.bare };
  }
  process.stdout.write(
    isJson ? `${JSON.stringify({ success: true, ...figures })}\n` : `${table(figures).join('\n')}\n`,
  );
}

/** Figures of one kind, measured in a process of its own. */
export async function readInProcess(kind: LoadKind, megabytes: number, signal?: AbortSignal): Promise<ReaderFigures> {
  const reader = join(__dirname, '..', 'output-reader.js');
  const options = signal === undefined ? {} : { signal };
  const { stdout } = await run(process.execPath, [reader, kind, String(megabytes)], options);
  return JSON.parse(stdout) as ReaderFigures;
}

function table(figures: Partial<Record<LoadKind, ReaderFigures & { ratio: number }>>): string[] {
  const head = ['output'.padEnd(10), 'MB/s', 'bare MB/s', 'ratio', 'peak MB', 'before MB'].join('  ');
  const rows = Object.entries(figures).map(([kind, { product, bare, ratio, peak, before }]) =>
    [
      kind.padEnd(10),
      product.toFixed(0).padStart(4),
      bare.toFixed(0).padStart(9),
      String(round(ratio)).padStart(5),
      peak.toFixed(0).padStart(7),
      before.toFixed(0).padStart(9),
    ].join('  '),
  );
  return [head, ...rows];
}
