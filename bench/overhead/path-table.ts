import type { PathCost } from './paths';

/** The cost of each path as a table for people. */
export function pathLines(paths: readonly PathCost[]): string[] {
  const rows = paths.map(({ path, events, bytes, actions }) => [path, events, bytes, actions].map(String));
  const all = [['What each path costs', 'events', 'bytes', 'actions'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
}
