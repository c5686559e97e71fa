/** The present moment in milliseconds since 1970: the one clock that all processes here share. */
export const now = (): number => Date.now();

/** The value that so much of a list is not above, `part` between 0 and 1; between two values it lies in proportion. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * part;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position % 1);
}

export interface Summary {
  readonly n: number;
  readonly median: number;
  readonly p95: number;
  readonly min: number;
  readonly max: number;
}

/** What is told of a list of measurements, rounded to three digits behind the point. */
export function summary(values: readonly number[]): Summary {
  return {
    n: values.length,
    median: round(quantile(values, 0.5)),
    p95: round(quantile(values, 0.95)),
    min: round(Math.min(...values)),
    max: round(Math.max(...values)),
  };
}

export const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** Runs work for each number below `count`, `width` at a time. */
export async function inFlight(count: number, width: number, work: () => Promise<void>): Promise<void> {
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}
