import { InvalidArgumentError } from 'commander';
import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration such as `30m`, `90s` or `1h30m` as milliseconds. */
export function duration(value: string): number {
  if (!/^(\d+(ms|s|m|h|d))+$/.test(value)) {
    throw new InvalidArgumentError('It must be a duration like 90s, 30m or 1h30m.');
  }
  const parts = [...value.matchAll(/(\d+)(ms|s|m|h|d)/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS[unit ?? ''] ?? 0), 0);
}

/** Reads a duration from one second to a longest one. */
export const durationUpTo =
  (longest: string) =>
  (value: string): number => {
    const ms = duration(value);
    if (ms >= 1_000 && ms <= duration(longest)) return ms;
    throw new InvalidArgumentError(`It must be between 1s and ${longest}.`);
  };

const uuid = z.uuid();

/** Checks the id of an attempt. */
export function attemptId(value: string): string {
  if (uuid.safeParse(value).success) return value;
  throw new InvalidArgumentError('It must be a UUID; `perdure audit` lists them.');
}

const isoTime = z.iso.datetime({ offset: true });

/** Checks a point in time; it stays as it was written. */
export function time(value: string): string {
  if (isoTime.safeParse(value).success) return value;
  throw new InvalidArgumentError('It must be an ISO 8601 time like 2026-12-31T17:00:00Z.');
}

/** Reads a whole number in a range. */
export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${String(min)} to ${String(max)}.`);
  };

/** Collects an option that may be given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** Collects an option that may be given several times and says something each time. */
export function collectText(value: string, before: string[] = []): string[] {
  if (value.trim() === '') throw new InvalidArgumentError('It must not be blank.');
  return collect(value, before);
}

/** Collects `key=value` pairs. */
export function pair(value: string, before: Record<string, string> = {}): Record<string, string> {
  const at = value.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must have the form key=value.');
  return { ...before, [value.slice(0, at)]: value.slice(at + 1) };
}
