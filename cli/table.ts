import { oneLine } from './escape';

/** Rows of cells as aligned lines; every cell is made safe to print on one line. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const safe = rows.map((row) => row.map(oneLine));
  const widths = safe.reduce<number[]>((max, row) => row.map((cell, at) => Math.max(max[at] ?? 0, width(cell))), []);
  return safe.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd(),
  );
}

const width = (text: string): number => [...text].length;

/** Named values as aligned lines; what is absent is left out. */
export function fields(values: Readonly<Record<string, string | number | null | undefined>>): string[] {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return table(given.map(([name, value]) => [name, String(value)]));
}
